//! QUIC's events to records, and the calls JavaScript makes on streams.

use quinn_proto as qp;
use quinn_proto::{Dir, ReadError, StreamEvent};

use crate::connection::Phase;
use crate::endpoint::Endpoint;
use crate::error::{Failure, Source};
use crate::handle::Handle;
use crate::sink::{Kind, Sink};
use crate::stream::Stream;

/// Flags in the answer of `write`, `reset` and `stop_sending`.
pub const ABOVE_HIGH_WATER: u32 = 1;
pub const FREED: u32 = 2;

/// The most that is delivered of an accepted stream before JavaScript could pause it. Streams that nobody attaches thus
/// hold no more than this times the stream limit; the rest stays under flow control.
const FIRST_BYTES: usize = 4096;

impl Endpoint {
    pub(crate) fn event(&mut self, index: usize, event: qp::Event) {
        match event {
            qp::Event::Connected => {
                self.connected(index);
                self.accept(index);
            }
            qp::Event::ConnectionLost { reason } => self.lost(index, &reason),
            qp::Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => self.accept(index),
            qp::Event::Stream(StreamEvent::Readable { id }) => {
                if let Some(stream) = self.by_id(index, id) {
                    self.queue_readable(stream);
                }
            }
            qp::Event::Stream(StreamEvent::Writable { id }) => {
                if let Some(stream) = self.by_id(index, id) {
                    self.flush_stream(index, stream);
                }
            }
            qp::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                self.accept(index);
                self.stopped(index, id, error_code);
            }
            qp::Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => self.open_waiting(index),
            _ => {}
        }
    }

    fn by_id(&self, index: usize, id: qp::StreamId) -> Option<Handle> {
        let connection = self.connections.get(index)?.as_ref()?;
        connection.streams.get(&id).copied()
    }

    fn lost(&mut self, index: usize, reason: &qp::ConnectionError) {
        let Some(Some(connection)) = self.connections.get(index) else {
            return;
        };
        let verdict = connection
            .verdict
            .as_ref()
            .and_then(|verdict| verdict.lock().ok()?.take());
        let failure = verdict.unwrap_or_else(|| {
            Failure::lost(
                reason,
                canonical(connection.proto.remote_address()),
                connection.phase == Phase::Handshaking,
            )
        });
        self.end(index, Some(failure));
    }

    fn accept(&mut self, index: usize) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.phase == Phase::Live
            && let Some(id) = connection.proto.streams().accept(Dir::Bi)
        {
            let mut stream = Stream::new(connection.handle, Some(id));
            stream.fresh = true;
            let Some(handle) = self.streams.insert(stream) else {
                let full = qp::VarInt::from_u32(0);
                let _ = connection.proto.recv_stream(id).stop(full);
                let _ = connection.proto.send_stream(id).reset(full);
                continue;
            };
            connection.streams.insert(id, handle);
            self.notices.push_back(crate::sink::Notice {
                kind: Kind::Stream,
                words: [index as u32, handle.index, handle.generation],
                stream: Some(handle),
            });
            self.queue_readable(handle);
        }
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.phase == Phase::Live
        {
            connection.raise_stream_limit();
        }
    }

    fn queue_readable(&mut self, handle: Handle) {
        if let Some(stream) = self.streams.get_mut(handle)
            && !stream.queued
            && !stream.paused
        {
            stream.queued = true;
            self.readable.push_back(handle);
        }
    }

    fn flush_stream(&mut self, index: usize, handle: Handle) {
        let (Some(Some(connection)), Some(stream)) = (self.connections.get_mut(index), self.streams.get_mut(handle))
        else {
            return;
        };
        let before = stream.sending;
        let flushed = stream.flush(&mut connection.proto, connection.settings.high_water_mark);
        let finished = before != stream.sending && stream.finished();
        stream.farewell |= finished;
        if flushed.drained {
            self.notify_stream(Kind::Drain, handle, [0, 0]);
        }
        if finished {
            // The slot stays until the record is collected, so that both sides forget it together.
            self.notify_stream(Kind::Freed, handle, [0, 0]);
        }
    }

    fn stopped(&mut self, index: usize, id: qp::StreamId, code: qp::VarInt) {
        let handle = self.by_id(index, id);
        if let Some(Some(connection)) = self.connections.get_mut(index) {
            // STOP_SENDING is answered with RESET_STREAM (RFC 9000 §3.5), also when the stream has been forgotten here
            // and QUIC is still sending the rest of it.
            let _ = connection.proto.send_stream(id).reset(code);
        }
        self.mark(index);
        let Some(handle) = handle else { return };
        let Some(stream) = self.streams.get_mut(handle) else {
            return;
        };
        stream.stopped();
        stream.farewell = true;
        self.notify_stream(Kind::Stopped, handle, [0, clamp(code)]);
    }

    fn open_waiting(&mut self, index: usize) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(&handle) = connection.waiting.front()
        {
            let Some(stream) = self.streams.get_mut(handle) else {
                connection.waiting.pop_front();
                continue;
            };
            let Some(id) = connection.proto.streams().open(Dir::Bi) else {
                return;
            };
            connection.waiting.pop_front();
            connection.streams.insert(id, handle);
            stream.opened(id, &mut connection.proto);
            self.flush_stream(index, handle);
            self.mark(index);
        }
    }

    /// A stream of a live session; without an id while the peer's limit is reached.
    pub fn open_stream(&mut self, handle: Handle) -> Result<Handle, Failure> {
        let index = handle.index as usize;
        let id = match self.connection(handle) {
            Some(connection) if connection.phase == Phase::Live => {
                let overtakes = !connection.waiting.is_empty();
                (!overtakes).then(|| connection.proto.streams().open(Dir::Bi)).flatten()
            }
            _ => {
                return Err(Failure::new(
                    Source::Session,
                    "ERR_QUIC_CLOSED",
                    "the session has closed",
                ));
            }
        };
        let stream = self.streams.insert(Stream::new(handle, id)).ok_or_else(|| {
            Failure::new(
                Source::Usage,
                "ERR_QUIC_TRANSPORT",
                "this endpoint has 2^24 streams open and no room for more",
            )
        })?;
        if let Some(Some(connection)) = self.connections.get_mut(index) {
            match id {
                Some(id) => drop(connection.streams.insert(id, stream)),
                None => connection.waiting.push_back(stream),
            }
        }
        Ok(stream)
    }

    /// Runs `act` on a live stream and its connection, then frees the stream if both its sides are done.
    fn with_stream(&mut self, handle: Handle, act: impl FnOnce(&mut Stream, &mut qp::Connection, usize) -> u32) -> u32 {
        let Some(stream) = self.streams.get_mut(handle) else {
            return 0;
        };
        let index = stream.connection.index as usize;
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return 0;
        };
        if connection.handle != stream.connection || connection.phase != Phase::Live {
            return 0;
        }
        let finished_before = stream.finished();
        let flags = act(stream, &mut connection.proto, connection.settings.high_water_mark);
        // With a Stopped record on its way JavaScript shall hear that first.
        let freed = !finished_before && stream.finished() && !stream.farewell;
        self.mark(index);
        if freed {
            self.free(handle);
            return flags | FREED;
        }
        flags
    }

    pub(crate) fn free(&mut self, handle: Handle) {
        let Some(stream) = self.streams.remove(handle) else {
            return;
        };
        if let Some(id) = stream.id
            && let Some(connection) = self.connection(stream.connection)
        {
            connection.streams.remove(&id);
        }
    }

    pub fn write(&mut self, handle: Handle, data: &[u8], end: bool) -> u32 {
        self.with_stream(handle, |stream, connection, high_water_mark| {
            if stream.write(connection, data, end, high_water_mark) {
                0
            } else {
                ABOVE_HIGH_WATER
            }
        })
    }

    pub fn reset(&mut self, handle: Handle, code: u32) -> u32 {
        self.with_stream(handle, |stream, connection, _| {
            stream.reset(connection, code.into());
            0
        })
    }

    pub fn stop_sending(&mut self, handle: Handle, code: u32) -> u32 {
        self.with_stream(handle, |stream, connection, _| {
            stream.stop(connection, code.into());
            0
        })
    }

    pub fn set_paused(&mut self, handle: Handle, paused: bool) {
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.paused = paused;
            if !paused && stream.id.is_some() {
                self.queue_readable(handle);
            }
        }
    }

    pub fn has_records(&self) -> bool {
        !self.notices.is_empty() || !self.readable.is_empty()
    }

    /// Fills the sink with waiting records, then with what streams have received.
    pub fn collect(&mut self, sink: &mut Sink<'_>) {
        while !sink.full()
            && let Some(notice) = self.notices.pop_front()
        {
            if notice.kind == Kind::StreamClosed
                && let Some(handle) = notice.stream
            {
                // What arrived before the end of the connection is still delivered.
                self.collect_stream(handle, sink, usize::MAX);
                if sink.full() || sink.room() == 0 {
                    self.notices.push_front(notice);
                    break;
                }
            }
            self.collect_notice(notice, sink);
        }
        while !sink.full()
            && sink.room() > 0
            && let Some(handle) = self.readable.pop_front()
        {
            let fresh = self.streams.get(handle).is_some_and(|stream| stream.fresh);
            self.collect_stream(handle, sink, if fresh { FIRST_BYTES } else { usize::MAX });
        }
        self.readable.append(&mut self.held_over);
    }

    fn collect_notice(&mut self, notice: crate::sink::Notice, sink: &mut Sink<'_>) {
        let mut words = notice.words;
        if let Some(handle) = notice.stream {
            let Some(stream) = self.streams.get_mut(handle) else {
                return;
            };
            let finished = stream.finished();
            match notice.kind {
                Kind::Stopped => {
                    stream.farewell = false;
                    words[1] = u32::from(finished);
                    if finished {
                        self.free(handle);
                    }
                }
                Kind::Freed | Kind::StreamClosed => self.free(handle),
                _ => {}
            }
        }
        sink.push(notice.kind, words);
    }

    /// Delivers at most `most` bytes of a stream; what is left follows in the next batch.
    fn collect_stream(&mut self, handle: Handle, sink: &mut Sink<'_>, most: usize) {
        let Some(stream) = self.streams.get_mut(handle) else {
            return;
        };
        stream.queued = false;
        let index = stream.connection.index as usize;
        let (Some(id), Some(Some(connection))) = (stream.id, self.connections.get_mut(index)) else {
            return;
        };
        if stream.paused || !stream.receiving || connection.handle != stream.connection {
            return;
        }
        let start = sink.used;
        let mut end = None;
        let mut transmit = false;
        let mut more = false;
        let blocked = !connection.waiting.is_empty();
        let mut receiver = connection.proto.recv_stream(id);
        if let Ok(mut chunks) = receiver.read(true) {
            loop {
                let room = sink.room().min(most.saturating_sub(sink.used - start));
                if room == 0 {
                    more = true;
                    break;
                }
                match chunks.next(room) {
                    Ok(Some(chunk)) => sink.put(&chunk.bytes),
                    Ok(None) => {
                        end = Some((Kind::End, 0));
                        break;
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) => {
                        end = Some((Kind::Reset, clamp(code)));
                        break;
                    }
                }
            }
            transmit = chunks.finalize().should_transmit();
        }
        stream.queued = more;
        if sink.used > start {
            stream.fresh = false;
            sink.push(Kind::Data, [handle.index, start as u32, (sink.used - start) as u32]);
        }
        if let Some((kind, code)) = end {
            if blocked {
                // The peer may only raise its stream limit when it knows that its reply has arrived. A PING takes the
                // acknowledgement along at once instead of after max_ack_delay.
                connection.proto.ping();
                transmit = true;
            }
            stream.receiving = false;
            let freed = stream.finished() && !stream.farewell;
            sink.push(kind, [handle.index, u32::from(freed), code]);
            if freed {
                self.free(handle);
            }
        }
        if transmit {
            self.mark(index);
        }
        if more {
            self.held_over.push_back(handle);
        }
    }

    /// Smoothed RTT in ms, congestion window, packets sent, packets lost, bytes sent, bytes received, path MTU.
    pub fn stats(&mut self, handle: Handle) -> Option<[f64; 7]> {
        let connection = self.connection(handle)?;
        let stats = connection.proto.stats();
        Some([
            stats.path.rtt.as_secs_f64() * 1000.0,
            stats.path.cwnd as f64,
            stats.path.sent_packets as f64,
            stats.path.lost_packets as f64,
            stats.udp_tx.bytes as f64,
            stats.udp_rx.bytes as f64,
            f64::from(stats.path.current_mtu),
        ])
    }
}

/// Codes go up to 2^62-1 on the wire (RFC 9000 §16) but to 2^32-1 in W3C WebTransport.
fn clamp(code: qp::VarInt) -> u32 {
    u32::try_from(code.into_inner()).unwrap_or(u32::MAX)
}

/// IPv4-mapped addresses of a dual-stack socket as plain IPv4.
pub fn canonical(address: std::net::SocketAddr) -> std::net::SocketAddr {
    std::net::SocketAddr::new(address.ip().to_canonical(), address.port())
}
