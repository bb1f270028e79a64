//! A request of plain HTTP and its response on one stream, and the limit of cancelled requests.

use std::time::Instant;

use quinn_proto as qp;

use crate::bridge::event_batch::{EventBatch, QueuedRecord};
use crate::bridge::handle::Handle;
use crate::bridge::layout::Kind;
use crate::endpoint::Endpoint;
use crate::http3::{self, Body, Fault, Fields, PlainRequest, codes};

pub struct Exchange {
    /// The request, until JavaScript has read it.
    pub request: Option<PlainRequest>,
    pub body: Body,
    /// The client has received the whole response, or will receive no more of it.
    pub delivered: bool,
    /// The client has cancelled it.
    pub cancelled: bool,
}

impl Exchange {
    pub fn new(request: PlainRequest) -> Self {
        Exchange {
            body: Body::new(request.length),
            request: Some(request),
            delivered: false,
            cancelled: false,
        }
    }

    /// Writes the body bytes in the frames of `bytes` into the batch.
    pub fn collect(&mut self, bytes: &[u8], batch: &mut EventBatch<'_>) -> Result<(), Fault> {
        let mut input = bytes;
        while let Some(data) = self.body.next(&mut input)? {
            batch.put(data);
        }
        Ok(())
    }
}

/// Number of requests that a client may cancel at once, and for each second that passes. A client that quickly begins
/// and cancels requests causes work that a limit of requests in progress does not bound. The same numbers as in Node's
/// HTTP/2.
const BURST: f64 = 1000.0;
const PER_SECOND: f64 = 33.0;

/// Counts the requests that a connection's client cancels.
pub struct CancelLimit {
    left: f64,
    at: Instant,
}

impl CancelLimit {
    pub fn new(now: Instant) -> Self {
        CancelLimit { left: BURST, at: now }
    }

    /// Counts a cancelled request if the limit allows it, and returns whether it does.
    pub fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * PER_SECOND).min(BURST) - 1.0;
        self.left >= 0.0
    }
}

impl Endpoint {
    /// Turns a client's request into a stream of the application. The first request makes the connection count as a
    /// session.
    pub(in crate::endpoint) fn take_request(&mut self, index: usize, id: qp::StreamId, request: PlainRequest) {
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

    /// Takes the trailers of a request whose body has ended.
    pub fn trailers(&mut self, stream: u32) -> Option<Fields> {
        self.trailers.remove(&stream)
    }

    /// Ends a response with trailers. Returns flags as `write` does.
    pub fn end_with_trailers(&mut self, stream: Handle, fields: &Fields) -> u32 {
        self.write_both(stream, &[], &http3::trailers(fields), true)
    }

    /// Begins a response. Returns flags as `write` does.
    pub fn respond(&mut self, stream: Handle, status: u16, fields: &Fields, data: &[u8], end: bool) -> u32 {
        let mut head = http3::head(status, fields);
        if !data.is_empty() {
            head.extend(http3::data_header(data.len()));
        }
        self.write_both(stream, &head, data, end)
    }

    /// Handles the client's acknowledgement of a whole stream.
    pub(in crate::endpoint) fn delivered(&mut self, index: usize, id: qp::StreamId) {
        let Some(handle) = self.by_id(index, id) else { return };
        if let Some(stream) = self.streams.get_mut(handle)
            && let Some(exchange) = &mut stream.exchange
        {
            exchange.delivered = true;
            // The slot stays until the record is collected, so that both sides free it together.
            stream.end_queued = true;
            self.notify_stream(Kind::Sent, handle, [0, 0]);
        }
    }

    /// Handles the client's reset or stop of a stream. The connection of a client that cancels too many requests is
    /// closed.
    pub(in crate::endpoint) fn note_cancelled(&mut self, index: usize, handle: Handle) {
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
    pub(in crate::endpoint) fn violated(&mut self, index: usize, code: u64, why: &'static str) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
        {
            web.http3.violated(code, why);
            self.act_http3(index);
        }
    }

    /// Notes the end of a request. A connection without requests is closed some time after its last one.
    pub(in crate::endpoint) fn request_over(&mut self, owner: Handle) {
        if let Some(connection) = self.connection(owner)
            && let Some(web) = &mut connection.web
        {
            web.http3.request_over();
            connection.pending.idle_from(Instant::now());
            self.mark(owner.index as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_and_a_rate() {
        let now = Instant::now();
        let mut limit = CancelLimit::new(now);
        let allowed = |limit: &mut CancelLimit, now| (0..2000).take_while(|_| limit.take(now)).count();
        assert_eq!(allowed(&mut limit, now), 1000);
        let mut steady = CancelLimit::new(now);
        assert_eq!(allowed(&mut steady, now + Duration::from_secs(600)), 1000);
        assert!((0..600).all(|n| {
            let mut later = CancelLimit::new(now);
            (0..=n).all(|at| later.take(now + Duration::from_millis(31 * at)))
        }));
    }
}
