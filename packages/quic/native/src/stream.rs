//! One stream: what waits to be sent, and how far each side has come.

use std::collections::VecDeque;

use bytes::Bytes;
use quinn_proto as qp;

use crate::handle::Handle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Open,
    /// FIN follows what is pending.
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
    pub paused: bool,
    /// In the endpoint's queue of readable streams.
    pub queued: bool,
    /// The stream's first bytes, which are not the application's. QUIC gets them with what is written first, or when the
    /// turn ends: it keeps a stream in the queue of the priority that the stream had when it got something to send.
    header: Bytes,
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    want_drain: bool,
    /// A Stopped or Freed record of this stream has yet to be collected; that frees it.
    pub farewell: bool,
    /// Accepted and not yet delivered from. See `FIRST_BYTES`.
    pub fresh: bool,
    /// Among the streams of its session: higher is sent first.
    priority: i32,
    /// RESET_STREAM and STOP_SENDING asked for while waiting for an id.
    early_reset: Option<qp::VarInt>,
    early_stop: Option<qp::VarInt>,
    /// The WebTransport session it belongs to.
    pub session: Option<Handle>,
    /// HTTP/3's own, unknown to JavaScript.
    pub internal: bool,
    /// Received beyond what HTTP/3 took, and the stream's first bytes.
    pub unread: Bytes,
}

/// What came of handing pending bytes to QUIC.
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
            paused: false,
            queued: false,
            header: Bytes::new(),
            pending: VecDeque::new(),
            pending_bytes: 0,
            want_drain: false,
            farewell: false,
            fresh: false,
            priority: 0,
            early_reset: None,
            early_stop: None,
            session: None,
            internal: false,
            unread: Bytes::new(),
        }
    }

    /// Opened by this side.
    pub fn local(connection: Handle, id: Option<qp::StreamId>, dir: qp::Dir) -> Self {
        Stream {
            receiving: dir == qp::Dir::Bi,
            ..Stream::new(connection, id)
        }
    }

    /// Opened by the peer.
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
        self.sending == Sending::Done && !self.receiving
    }

    /// `announce` is to follow in this turn.
    pub fn begin(&mut self, header: Bytes) {
        self.header = header;
    }

    /// Hands the header to QUIC. False while it does not take it.
    pub fn announce(&mut self, connection: &mut qp::Connection) -> bool {
        if self.header.is_empty() {
            return true;
        }
        let Some(id) = self.id else { return false };
        // write_chunks advances the chunk past what it took.
        match connection
            .send_stream(id)
            .write_chunks(std::slice::from_mut(&mut self.header))
        {
            Ok(_) | Err(qp::WriteError::Blocked) => {}
            // Stopped by the peer: nothing more is sent.
            Err(_) => self.header.clear(),
        }
        self.header.is_empty()
    }

    /// What QUIC has not taken yet.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Returns false when more than `high_water_mark` bytes are pending; `flush` then reports `drained` once.
    pub fn write(&mut self, connection: &mut qp::Connection, data: &[u8], end: bool, high_water_mark: usize) -> bool {
        if self.sending != Sending::Open {
            return true;
        }
        let mut rest = data;
        if self.announce(connection)
            && let Some(id) = self.id
            && self.pending.is_empty()
        {
            while !rest.is_empty() {
                match connection.send_stream(id).write(rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(qp::WriteError::Blocked) => break,
                    // Stopped by the peer: the event is on its way, the bytes are void.
                    Err(_) => rest = &[],
                }
            }
        }
        if !rest.is_empty() {
            self.pending_bytes += rest.len();
            self.pending.push_back(Bytes::copy_from_slice(rest));
        }
        if end {
            self.sending = Sending::Finishing;
            self.finish_if_flushed(connection);
        }
        if self.pending_bytes <= high_water_mark {
            return true;
        }
        self.want_drain = true;
        false
    }

    fn finish_if_flushed(&mut self, connection: &mut qp::Connection) {
        if let Some(id) = self.id
            && self.sending == Sending::Finishing
            && self.header.is_empty()
            && self.pending.is_empty()
        {
            // Only fails when the peer has stopped the stream, which ends the sending side as well.
            let _ = connection.send_stream(id).finish();
            self.sending = Sending::Done;
        }
    }

    /// Hands pending bytes to QUIC as far as it takes them.
    pub fn flush(&mut self, connection: &mut qp::Connection, high_water_mark: usize) -> Flushed {
        let Some(id) = self.id else {
            return Flushed::default();
        };
        while self.announce(connection)
            && let Some(chunk) = self.pending.front_mut()
        {
            let before = chunk.len();
            // write_chunks advances the chunk past what it took, without copying.
            match connection.send_stream(id).write_chunks(std::slice::from_mut(chunk)) {
                Ok(written) => {
                    self.pending_bytes -= written.bytes;
                    if written.bytes == before {
                        self.pending.pop_front();
                    }
                }
                Err(_) => break,
            }
        }
        self.finish_if_flushed(connection);
        // Half the mark, so that a writer at the mark is not woken for every packet.
        let drained = self.want_drain && self.pending_bytes <= high_water_mark / 2;
        if drained {
            self.want_drain = false;
        }
        Flushed { drained }
    }

    /// Takes the id that became available. What was asked for while waiting happens now.
    pub fn opened(&mut self, id: qp::StreamId, connection: &mut qp::Connection) {
        self.id = Some(id);
        self.set_priority(connection, self.priority);
        if let Some(code) = self.early_reset {
            let _ = connection.send_stream(id).reset(code);
        }
        if let Some(code) = self.early_stop {
            let _ = connection.recv_stream(id).stop(code);
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
        // After FIN what was written is still sent: core resets streams whose answer is on its way.
        if self.sending == Sending::Done {
            return;
        }
        self.drop_pending();
        match self.id {
            // Fails only when the stream is already gone.
            Some(id) => drop(connection.send_stream(id).reset(code)),
            None => self.early_reset = Some(code),
        }
    }

    pub fn stop(&mut self, connection: &mut qp::Connection, code: qp::VarInt) {
        if !self.receiving {
            return;
        }
        self.receiving = false;
        match self.id {
            Some(id) => drop(connection.recv_stream(id).stop(code)),
            None => self.early_stop = Some(code),
        }
    }

    /// The peer asked to stop: nothing more is sent.
    pub fn stopped(&mut self) {
        self.drop_pending();
    }

    /// QUIC knows nothing of this stream any more.
    pub fn forget(&mut self) {
        self.drop_pending();
        self.id = None;
        self.receiving = false;
    }

    fn drop_pending(&mut self) {
        self.sending = Sending::Done;
        self.header.clear();
        self.pending.clear();
        self.pending_bytes = 0;
        self.want_drain = false;
    }
}
