//! One stream: its unsent data, and the state of both directions.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use quinn_proto as qp;

use crate::bridge::handle::Handle;
use crate::endpoint::web::credit::DataCredit;
use crate::endpoint::web::requests::Exchange;
use crate::quic::connection::Connection;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Open,
    /// FIN follows the pending data.
    Finishing,
    /// FIN or RESET_STREAM has been handed to QUIC.
    Done,
}

pub struct Stream {
    pub connection: Handle,
    /// None while the peer's stream limit keeps the stream waiting.
    pub id: Option<qp::StreamId>,
    pub sending: Sending,
    pub receiving: bool,
    /// The code of the peer's STOP_SENDING. It may arrive before the stream's session is known.
    pub stop: Option<qp::VarInt>,
    pub paused: bool,
    /// Whether the endpoint's queue of readable streams contains it.
    pub queued: bool,
    /// Small writes of this turn. QUIC gets them as one piece at the end of the turn: it keeps every piece until it is
    /// acknowledged, and searches the pieces from the first for each packet. It also keeps a stream in the queue of the
    /// priority that the stream had when it got something to send.
    gathered: Vec<u8>,
    /// Chunks that QUIC has not accepted yet.
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    want_drain: bool,
    /// Number of Stopped, Sent, Reset and Freed records of this stream that are not yet collected. Collecting the last
    /// one frees the stream if it is finished.
    pub queued_ends: u32,
    /// The stream is accepted and none of its data has been delivered. See `FIRST_BYTES`.
    pub fresh: bool,
    /// Priority among the streams of its session: higher is sent first.
    priority: i32,
    /// RESET_STREAM and STOP_SENDING requested while waiting for an id.
    early_reset: Option<qp::VarInt>,
    early_stop: Option<qp::VarInt>,
    /// The WebTransport session it belongs to.
    pub session: Option<Handle>,
    /// The session's send limit, if its peer sets one.
    pub credit: Option<Rc<DataCredit>>,
    /// The first bytes of a stream that this side opened, which name its session, and how many of them QUIC has not
    /// accepted yet. They are not charged to the session's limit, and are delivered even if the stream is reset.
    header: Bytes,
    header_left: usize,
    /// One of HTTP/3's own streams, unknown to JavaScript.
    pub internal: bool,
    /// The request of plain HTTP that it carries.
    pub exchange: Option<Box<Exchange>>,
    /// Received bytes beyond those that HTTP/3 used, and the stream's first bytes.
    pub unread: Bytes,
}

/// Maximum bytes to gather; larger writes are passed to QUIC at once.
const GATHERED_BYTES: usize = 16 * 1024;

/// Result of handing pending bytes to QUIC.
#[derive(Default)]
pub struct Flushed {
    pub drained: bool,
}

impl Stream {
    fn new(connection: Handle, id: Option<qp::StreamId>) -> Self {
        Stream {
            connection,
            id,
            sending: Sending::Open,
            receiving: true,
            stop: None,
            paused: false,
            queued: false,
            gathered: Vec::new(),
            pending: VecDeque::new(),
            pending_bytes: 0,
            want_drain: false,
            queued_ends: 0,
            fresh: false,
            priority: 0,
            early_reset: None,
            early_stop: None,
            session: None,
            credit: None,
            header: Bytes::new(),
            header_left: 0,
            internal: false,
            exchange: None,
            unread: Bytes::new(),
        }
    }

    /// Makes a stream that this side opened.
    pub fn local(connection: Handle, id: Option<qp::StreamId>, dir: qp::Dir) -> Self {
        Stream {
            receiving: dir == qp::Dir::Bi,
            ..Stream::new(connection, id)
        }
    }

    /// Makes a stream that the peer opened.
    pub fn remote(connection: Handle, id: qp::StreamId) -> Self {
        Stream {
            sending: if id.dir() == qp::Dir::Bi {
                Sending::Open
            } else {
                Sending::Done
            },
            fresh: true,
            ..Stream::new(connection, Some(id))
        }
    }

    pub fn finished(&self) -> bool {
        let delivered = self.exchange.as_ref().is_none_or(|exchange| exchange.delivered);
        self.sending == Sending::Done && !self.receiving && delivered
    }

    /// Sets the stream's first bytes, which do not come from the application. `settle` must follow in this turn.
    pub fn begin(&mut self, header: Bytes) {
        self.header_left = header.len();
        self.gathered.extend_from_slice(&header);
        self.header = header;
    }

    /// Returns how many of the next `bytes` the session may send.
    fn allowance(&self, bytes: usize) -> usize {
        let Some(credit) = &self.credit else { return bytes };
        let left = usize::try_from(credit.left()).unwrap_or(usize::MAX);
        bytes.min(left.saturating_add(self.header_left))
    }

    fn spend(&mut self, bytes: usize) {
        let header = bytes.min(self.header_left);
        self.header_left -= header;
        if let Some(credit) = &self.credit {
            credit.spend((bytes - header) as u64);
        }
    }

    /// Returns once the limit of its session's data that blocks this stream.
    pub fn newly_blocked(&self) -> Option<u64> {
        let credit = self.credit.as_ref().filter(|_| !self.pending.is_empty())?;
        credit.newly_blocked()
    }

    /// Whether `settle` must follow in this turn.
    pub fn gathers(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// Passes the gathered bytes to QUIC as far as it accepts them.
    pub fn settle(&mut self, connection: &mut qp::Connection) {
        if self.gathers() {
            let bytes = Bytes::from(std::mem::take(&mut self.gathered));
            self.pending_bytes += bytes.len();
            self.pending.push_back(bytes);
            self.pass_on(connection);
        }
    }

    /// Counts the bytes that QUIC has not accepted yet. Gathered bytes do not count unless others wait before them.
    pub fn pending_bytes(&self) -> usize {
        if self.pending.is_empty() {
            return 0;
        }
        self.pending_bytes + self.gathered.len()
    }

    /// Returns false if more than `high_water_mark` bytes are pending; `flush` then reports `drained` once. Without
    /// `end`, `settle` must follow in this turn.
    pub fn write(&mut self, connection: &mut qp::Connection, data: &[u8], end: bool, high_water_mark: usize) -> bool {
        if self.sending != Sending::Open {
            return true;
        }
        let only = end && !self.gathers();
        if !only && self.gathered.len() + data.len() <= GATHERED_BYTES {
            self.gathered.extend_from_slice(data);
        } else {
            self.settle(connection);
            self.write_now(connection, data);
        }
        if end {
            self.settle(connection);
            self.sending = Sending::Finishing;
            self.finish_if_flushed(connection);
        }
        if self.pending_bytes() <= high_water_mark {
            return true;
        }
        self.want_drain = true;
        false
    }

    fn write_now(&mut self, connection: &mut qp::Connection, data: &[u8]) {
        let mut rest = data;
        if let Some(id) = self.id
            && self.pending.is_empty()
        {
            while !rest.is_empty() {
                let most = self.allowance(rest.len());
                if most == 0 {
                    break;
                }
                match connection.send_stream(id).write(&rest[..most]) {
                    Ok(written) => {
                        self.spend(written);
                        rest = &rest[written..];
                    }
                    Err(qp::WriteError::Blocked) => break,
                    // Stopped by the peer: the event follows, the bytes are dropped.
                    Err(_) => rest = &[],
                }
            }
        }
        if !rest.is_empty() {
            self.pending_bytes += rest.len();
            self.pending.push_back(Bytes::copy_from_slice(rest));
        }
    }

    fn finish_if_flushed(&mut self, connection: &mut qp::Connection) {
        if let Some(id) = self.id
            && self.sending == Sending::Finishing
            && self.pending.is_empty()
        {
            // Only fails when the peer has stopped the stream, which ends the sending side as well.
            let _ = connection.send_stream(id).finish();
            self.sending = Sending::Done;
        }
    }

    fn pass_on(&mut self, connection: &mut qp::Connection) {
        let Some(id) = self.id else { return };
        while let Some(length) = self.pending.front().map(Bytes::len) {
            let most = self.allowance(length);
            if most == 0 {
                break;
            }
            let Some(chunk) = self.pending.front_mut() else { break };
            let beyond = (most < length).then(|| chunk.split_off(most));
            // write_chunks advances the chunk past the accepted bytes, without copying.
            let taken = connection.send_stream(id).write_chunks(std::slice::from_mut(chunk));
            if let Some(beyond) = beyond {
                self.pending.insert(1, beyond);
            }
            match taken {
                Ok(written) => {
                    self.pending_bytes -= written.bytes;
                    self.spend(written.bytes);
                    if written.bytes == most {
                        self.pending.pop_front();
                    }
                }
                Err(_) => break,
            }
        }
    }

    /// Passes pending bytes to QUIC as far as it accepts them.
    pub fn flush(&mut self, connection: &mut qp::Connection, high_water_mark: usize) -> Flushed {
        if self.id.is_none() {
            return Flushed::default();
        }
        self.pass_on(connection);
        self.finish_if_flushed(connection);
        // Half the mark, so that a writer at the mark is not woken for every packet.
        let drained = self.want_drain && self.pending_bytes <= high_water_mark / 2;
        if drained {
            self.want_drain = false;
        }
        Flushed { drained }
    }

    /// Sets the id that has become available, and performs the operations requested before.
    pub fn opened(&mut self, id: qp::StreamId, connection: &mut Connection) {
        self.id = Some(id);
        self.set_priority(&mut connection.proto, self.priority);
        if let Some(code) = self.early_reset {
            self.reset_from_header(&mut connection.proto, id, code);
        }
        if let Some(code) = self.early_stop {
            self.stop_behind_header(connection, id, code);
        }
    }

    pub fn set_priority(&mut self, connection: &mut qp::Connection, priority: i32) {
        self.priority = priority;
        if let Some(id) = self.id
            && self.sending != Sending::Done
        {
            // Fails only when the stream is already gone.
            let _ = connection.send_stream(id).set_priority(priority);
        }
    }

    pub fn reset(&mut self, connection: &mut qp::Connection, code: qp::VarInt) {
        // After FIN the written data is still sent: core resets streams whose answer is in flight.
        if self.sending == Sending::Done {
            return;
        }
        self.drop_pending();
        match self.id {
            Some(id) => self.reset_from_header(connection, id, code),
            None => self.early_reset = Some(code),
        }
    }

    /// Sends RESET_STREAM_AT with the header's length, or RESET_STREAM if there is no header or the peer does not
    /// support the former.
    fn reset_from_header(&mut self, connection: &mut qp::Connection, id: qp::StreamId, code: qp::VarInt) {
        let mut stream = connection.send_stream(id);
        let rest = &self.header[self.header.len() - self.header_left..];
        if let Some(Ok(written)) = (!rest.is_empty()).then(|| stream.write(rest)) {
            self.header_left -= written;
        }
        // Fails only when the stream is already gone.
        let _ = stream.reset_at(code, self.header.len() as u64);
    }

    pub fn stop(&mut self, connection: &mut Connection, code: qp::VarInt) {
        if !self.receiving {
            return;
        }
        self.receiving = false;
        match self.id {
            Some(id) => self.stop_behind_header(connection, id, code),
            None => self.early_stop = Some(code),
        }
    }

    /// Sends STOP_SENDING, but not before the header: QUIC puts it first in a packet, and the code is meaningless to a
    /// peer that does not know the stream's session yet.
    fn stop_behind_header(&self, connection: &mut Connection, id: qp::StreamId, code: qp::VarInt) {
        if self.header.is_empty() {
            drop(connection.proto.recv_stream(id).stop(code));
        } else {
            connection.late_stops.push((id, code));
        }
    }

    /// Handles the peer's STOP_SENDING: nothing more is sent. Returns false if it was known already.
    pub fn stopped(&mut self, connection: &mut qp::Connection, code: qp::VarInt) -> bool {
        let first = self.stop.replace(code).is_none();
        if first {
            self.drop_pending();
            if let Some(id) = self.id {
                // STOP_SENDING is answered with RESET_STREAM (RFC 9000 §3.5).
                let _ = connection.send_stream(id).reset(code);
            }
        }
        first
    }

    /// Called when QUIC has forgotten the stream.
    pub fn forget(&mut self) {
        self.drop_pending();
        self.id = None;
        self.receiving = false;
    }

    fn drop_pending(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.delivered = true;
        }
        self.sending = Sending::Done;
        self.gathered.clear();
        self.pending.clear();
        self.pending_bytes = 0;
        self.want_drain = false;
    }
}
