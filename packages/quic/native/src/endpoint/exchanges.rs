//! Requests of plain HTTP/3: their delivery to JavaScript, their responses and their ends.

use std::time::Instant;

use quinn_proto as qp;

use super::Endpoint;
use crate::exchange::Exchange;
use crate::h3::{self, Fields, PlainRequest, codes};
use crate::handle::Handle;
use crate::layout::Kind;
use crate::sink::QueuedRecord;

impl Endpoint {
    /// Turns a client's request into a stream of the application. The first request makes the connection count as a
    /// session.
    pub(super) fn take_request(&mut self, index: usize, id: qp::StreamId, request: PlainRequest) {
        let Some(handle) = self.by_id(index, id) else { return };
        let stopped = self.streams.get(handle).is_none_or(|stream| stream.stop.is_some());
        let full = self
            .admission
            .as_ref()
            .is_none_or(|it| self.admitted >= it.limits.sessions);
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let owner = connection.handle;
        let Some(web) = &mut connection.web else { return };
        if stopped {
            web.http3.reject_plain(id.into(), codes::REQUEST_CANCELLED);
            return;
        }
        if full && !web.serves {
            self.counters.refused += 1;
            web.http3.refuse(id.into(), 503);
            return;
        }
        if !std::mem::replace(&mut web.serves, true) {
            self.count_session(index);
        }
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.internal = false;
            stream.exchange = Some(Exchange::new(request).into());
            self.queued.push_back(QueuedRecord {
                kind: Kind::Requested,
                words: [owner.index, handle.index, handle.generation],
                stream: Some(handle),
            });
            self.queue_readable(handle);
        }
    }

    /// Takes the head of a request. Later calls return nothing.
    pub fn request_head(&mut self, stream: Handle) -> Option<PlainRequest> {
        self.streams.get_mut(stream)?.exchange.as_mut()?.request.take()
    }

    /// Begins a response. Returns flags as `write` does.
    pub fn respond(&mut self, stream: Handle, status: u16, fields: &Fields, data: &[u8], end: bool) -> u32 {
        let mut head = h3::head(status, fields);
        if !data.is_empty() {
            head.extend(h3::data_header(data.len()));
        }
        self.write_both(stream, &head, data, end)
    }

    /// Handles the client's acknowledgement of a whole stream.
    pub(super) fn delivered(&mut self, index: usize, id: qp::StreamId) {
        let Some(handle) = self.by_id(index, id) else { return };
        if let Some(stream) = self.streams.get_mut(handle)
            && let Some(exchange) = &mut stream.exchange
        {
            exchange.delivered = true;
            // The slot stays until the record is collected, so that both sides free it together.
            stream.farewell = true;
            self.notify_stream(Kind::Sent, handle, [0, 0]);
        }
    }

    /// Handles the client's reset or stop of a stream. The connection of a client that cancels too many requests is
    /// closed.
    pub(super) fn note_cancelled(&mut self, index: usize, handle: Handle) {
        let Some(exchange) = self.streams.get_mut(handle).and_then(|it| it.exchange.as_mut()) else {
            return;
        };
        if std::mem::replace(&mut exchange.cancelled, true) {
            return;
        }
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let web = connection.web.as_mut();
        if web.is_some_and(|web| !web.cancels.take(Instant::now())) {
            self.violated(index, codes::EXCESSIVE_LOAD, "too many requests were cancelled");
        }
    }

    /// Handles a violation of HTTP/3 on the stream of a request.
    pub(super) fn violated(&mut self, index: usize, code: u64, why: &'static str) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
        {
            web.http3.violated(code, why);
            self.act_http3(index);
        }
    }

    /// Notes the end of a request. A connection without requests is closed some time after its last one.
    pub(super) fn request_over(&mut self, owner: Handle) {
        if let Some(connection) = self.connection(owner)
            && let Some(web) = &mut connection.web
        {
            web.http3.request_over();
            connection.pending.idle_from(Instant::now());
            self.mark(owner.index as usize);
        }
    }
}
