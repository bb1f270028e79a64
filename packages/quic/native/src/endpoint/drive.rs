//! QUIC's events to records.

use quinn_proto as qp;
use quinn_proto::{Dir, StreamEvent};

use super::{Endpoint, canonical, clamp};
use crate::connection::Phase;
use crate::error::Failure;
use crate::handle::Handle;
use crate::sink::{Kind, Notice};
use crate::stream::Stream;

impl Endpoint {
    /// Takes what a connection has to say: endpoint events first, then application events.
    pub(super) fn drive(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let mut drained = None;
        while let Some(event) = connection.proto.poll_endpoint_events() {
            if event.is_drained() {
                drained = Some(event);
                break;
            }
            if let Some(event) = self.proto.handle_event(qp::ConnectionHandle(index), event) {
                connection.proto.handle_event(event);
            }
        }
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(event) = connection.proto.poll()
        {
            self.event(index, event);
        }
        self.established(index);
        if let Some(event) = drained {
            self.end(index, None);
            self.drained.push((index, event));
            if !self.has_records() {
                self.reap();
            }
        }
    }

    /// Announces a session whose handshake is complete.
    fn established(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.phase != Phase::Handshaking
            || connection.proto.is_handshaking()
            || connection.proto.is_closed()
            || connection.awaits_consent()
        {
            return;
        }
        connection.phase = Phase::Live;
        let incoming = connection.incoming;
        if incoming {
            self.handshaking -= 1;
        }
        let words = [index as u32, connection.handle.generation, u32::from(incoming)];
        self.notify(Kind::Connected, words);
        self.accept(index);
    }

    fn event(&mut self, index: usize, event: qp::Event) {
        match event {
            // `established` follows.
            qp::Event::Connected => {}
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
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let handshaking = connection.phase == Phase::Handshaking;
        let failure = connection
            .findings
            .failure
            .take()
            .unwrap_or_else(|| Failure::lost(reason, canonical(connection.proto.remote_address()), handshaking));
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
            self.notices.push_back(Notice {
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

    pub(super) fn queue_readable(&mut self, handle: Handle) {
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
}
