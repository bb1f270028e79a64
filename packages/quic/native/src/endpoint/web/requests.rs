//! Requests of plain HTTP, of either role, and their responses; and the limit of cancelled requests.

use std::time::Instant;

use quinn_proto as qp;
use quinn_proto::Dir;

use super::varint;
use crate::bridge::error::Failure;
use crate::bridge::event_batch::{EventBatch, QueuedRecord};
use crate::bridge::handle::Handle;
use crate::bridge::layout::Kind;
use crate::endpoint::{Endpoint, canonical};
use crate::http3::{self, Fault, Fields, Message, Part, PlainRequest, codes};
use crate::quic::stream::Stream;

/// A request and its response on one stream.
pub struct Exchange {
    /// At a server, the request until JavaScript has read it.
    pub request: Option<PlainRequest>,
    /// The peer's message.
    pub message: Message,
    /// The peer has received this side's whole message, or will receive no more of it.
    pub delivered: bool,
    /// The client has cancelled it.
    pub cancelled: bool,
}

impl Exchange {
    fn new(request: Option<PlainRequest>, message: Message) -> Self {
        Exchange {
            request,
            message,
            delivered: false,
            cancelled: false,
        }
    }

    /// Writes the body bytes in the frames of `bytes` into the batch, and the head of a response into `head`.
    pub fn collect(
        &mut self,
        bytes: &[u8],
        batch: &mut EventBatch<'_>,
        head: &mut Option<(u16, Fields)>,
    ) -> Result<(), Fault> {
        let mut input = bytes;
        while let Some(part) = self.message.next(&mut input)? {
            match part {
                Part::Head(status, fields) => *head = Some((status, fields)),
                Part::Data(data) => batch.put(data),
            }
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
            let message = Message::request(request.length);
            stream.exchange = Some(Exchange::new(Some(request), message).into());
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

    /// Sends the head of a client's request, and FIN if it has no body. An `Answered` record follows.
    pub fn send_request(&mut self, owner: Handle, request: &PlainRequest, end: bool) -> Result<Handle, Failure> {
        let length = http3::announced_length(&request.fields);
        if length.is_none_or(|length| end && length.is_some_and(|length| length > 0)) {
            let message = "headers: te must be \"trailers\", and content-length the number of the body's bytes";
            return Err(Failure::option(message));
        }
        let connection = self.connection(owner).ok_or_else(Failure::session_closed)?;
        if connection.web.as_ref().is_some_and(|web| web.http3.is_leaving()) {
            let remote = canonical(connection.proto.remote_address());
            return Err(Failure::takes_no_requests(remote));
        }
        let handle = self.open_quic_stream(owner, Dir::Bi)?;
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.exchange = Some(Exchange::new(None, Message::response(&request.method)).into());
        }
        self.write_both(handle, &[], &request.encode(), end);
        Ok(handle)
    }

    /// Client: ends the requests that the server does not process, on streams from this id on and on waiting streams.
    pub(in crate::endpoint) fn refuse_requests(&mut self, index: usize, first: u64) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let mut all: Vec<Handle> = connection.waiting(Dir::Bi).iter().copied().collect();
        all.extend(connection.streams.values());
        for handle in all {
            // A repeated GOAWAY changes nothing for requests that have ended.
            let refused = |stream: &&mut Stream| {
                let is_request = stream.exchange.is_some() && stream.receiving;
                is_request && stream.id.is_none_or(|id| u64::from(id) >= first)
            };
            let Some(stream) = self.streams.get_mut(handle).filter(refused) else {
                continue;
            };
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                return;
            };
            stream.reset(&mut connection.proto, varint(codes::REQUEST_CANCELLED));
            stream.stop(connection, varint(codes::REQUEST_CANCELLED));
            self.notify_end(Kind::Reset, handle, codes::REQUEST_REJECTED as u32);
        }
    }

    /// Takes a field section that JavaScript has been notified of: the head of a response, or the trailers of a message.
    pub fn section(&mut self, stream: u32, trailers: bool) -> Option<Fields> {
        self.sections.remove(&(stream, trailers))
    }

    /// Ends a message with trailers. Returns flags as `write` does.
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

    /// Handles the peer's acknowledgement of a whole stream.
    pub(in crate::endpoint) fn delivered(&mut self, index: usize, id: qp::StreamId) {
        let Some(handle) = self.by_id(index, id) else { return };
        if let Some(stream) = self.streams.get_mut(handle)
            && let Some(exchange) = &mut stream.exchange
        {
            exchange.delivered = true;
            self.notify_end(Kind::Sent, handle, 0);
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
        let web = connection.web.as_mut().filter(|_| connection.incoming);
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

    /// Notes the end of a request. A server's connection without requests is closed some time after its last one.
    pub(in crate::endpoint) fn request_over(&mut self, owner: Handle) {
        if let Some(connection) = self.connection(owner).filter(|it| it.incoming)
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
