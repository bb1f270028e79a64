//! Converts QUIC's events into records.

use quinn_proto as qp;
use quinn_proto::{Dir, StreamEvent};

use super::{Endpoint, application_code, canonical, session_is_gone};
use crate::bridge::error::Failure;
use crate::bridge::event_batch::QueuedRecord;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::{EARLY_STREAM, FLAG_EARLY, FLAG_HTTP3, Kind};
use crate::quic::connection::Phase;
use crate::quic::stream::Stream;

/// Reason sent when the certificate of a resumed session is no longer valid. Tickets are for one use: the next dial
/// makes a full handshake, and fails with the certificate's error.
const EXPIRED_RESUMPTION: &[u8] = b"the client certificate of the resumed session is no longer valid; dial again";
/// Code that closes a session for which there is no room: CONNECTION_REFUSED (RFC 9000 §20.1).
const REFUSED: u32 = 2;

impl Endpoint {
    /// Processes the events of a connection: endpoint events first, then application events.
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
            if !self.has_records() && !self.streams.holds() {
                self.reap();
            }
        }
    }

    /// Announces a session whose handshake is complete, or whose client sends early data that is accepted.
    fn established(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.phase != Phase::Handshaking || connection.proto.is_closed() || connection.awaits_consent() {
            return;
        }
        let early = connection.proto.is_handshaking();
        if early && !connection.begins_early() {
            if connection.greets() {
                self.begin_http3(index);
            }
            return;
        }
        if let Some(failure) = connection.expired_resumption() {
            let handle = connection.handle;
            self.close_with(handle, 0, EXPIRED_RESUMPTION, failure);
            return;
        }
        connection.phase = Phase::Live;
        connection.early = early;
        let incoming = connection.incoming;
        connection.note_protocol();
        let handle = connection.handle;
        let admits = incoming && self.admission.as_ref().is_some_and(|it| !it.limits.manual);
        let mut flags = if early { FLAG_EARLY } else { 0 };
        let generation = connection.handle.generation;
        if connection.speaks_http3() {
            flags |= FLAG_HTTP3;
            self.begin_http3(index);
        }
        self.notify(Kind::Connected, [index as u32, generation, flags]);
        if admits && flags & FLAG_HTTP3 == 0 && !self.admit_session(Session::Quic(handle)) {
            self.close_connection(
                handle,
                REFUSED,
                b"the endpoint has reached its limit of sessions (maxSessions)",
            );
            return;
        }
        self.accept(index, Dir::Bi);
        self.accept(index, Dir::Uni);
        self.receive_datagrams(index);
    }

    fn event(&mut self, index: usize, event: qp::Event) {
        match event {
            // `established` follows.
            qp::Event::Connected => self.settle_early(index),
            qp::Event::ConnectionLost { reason } => self.lost(index, &reason),
            qp::Event::Stream(StreamEvent::Opened { dir }) => self.accept(index, dir),
            qp::Event::Stream(StreamEvent::Readable { id }) => {
                if let Some(stream) = self.by_id(index, id) {
                    self.readable(index, stream);
                }
            }
            qp::Event::Stream(StreamEvent::Writable { id }) => {
                if let Some(stream) = self.by_id(index, id) {
                    self.flush_stream(index, stream);
                }
            }
            qp::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                self.stopped(index, id, error_code);
            }
            qp::Event::Stream(StreamEvent::Finished { id }) => self.delivered(index, id),
            qp::Event::Stream(StreamEvent::Available { dir }) => self.open_waiting(index, dir),
            qp::Event::DatagramReceived => self.receive_datagrams(index),
            qp::Event::DatagramsUnblocked => self.datagrams_unblocked(index),
            _ => {}
        }
    }

    pub(super) fn by_id(&self, index: usize, id: qp::StreamId) -> Option<Handle> {
        let connection = self.connections.get(index)?.as_ref()?;
        connection.streams.get(&id).copied()
    }

    fn lost(&mut self, index: usize, reason: &qp::ConnectionError) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let handshaking = connection.handshaking();
        let remote = canonical(connection.proto.remote_address());
        let dialled = !connection.incoming;
        let unprocessed = connection.is_unprocessed(reason);
        let mut failure = connection.findings.failure.take().map_or_else(
            || Failure::lost(reason, remote, handshaking, dialled),
            |failure| *failure,
        );
        if unprocessed {
            failure.code = "ERR_QUIC_LOST_WHILE_IDLE".into();
        }
        self.end(index, Some(failure));
    }

    /// Accepts the peer's streams; QUIC keeps those of a session that is not admitted under flow control.
    pub(super) fn accept(&mut self, index: usize, dir: Dir) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.takes_streams(dir)
            && let Some(id) = connection.proto.streams().accept(dir)
        {
            connection.pending.note_stream();
            let mut stream = Stream::remote(connection.handle, id);
            stream.internal = connection.web.is_some();
            let Some(handle) = self.streams.insert(stream) else {
                let full = qp::VarInt::from_u32(0);
                let _ = connection.proto.recv_stream(id).stop(full);
                if dir == Dir::Bi {
                    let _ = connection.proto.send_stream(id).reset(full);
                }
                continue;
            };
            connection.streams.insert(id, handle);
            let stop = match dir {
                Dir::Bi => connection.proto.send_stream(id).stopped().ok().flatten(),
                Dir::Uni => None,
            };
            if let Some(web) = &mut connection.web {
                web.http3.opened(id.into());
            } else {
                self.announce(index as u32, handle, dir);
            }
            if let Some(code) = stop {
                self.stop_stream(index, handle, code);
            }
            self.readable(index, handle);
        }
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.phase == Phase::Live
        {
            connection.raise_stream_limit(dir);
        }
    }

    /// Announces a stream of the session with this index to JavaScript.
    pub(super) fn announce(&mut self, session: u32, stream: Handle, dir: Dir) {
        let connection = self.streams.get(stream).map(|stream| stream.connection);
        let early = connection
            .and_then(|connection| self.connection(connection))
            .is_some_and(|it| it.early);
        let early = if early { EARLY_STREAM } else { 0 };
        self.queued.push_back(QueuedRecord {
            kind: if dir == Dir::Bi { Kind::Stream } else { Kind::UniStream },
            words: [session, stream.index, stream.generation | early],
            stream: Some(stream),
        });
    }

    fn readable(&mut self, index: usize, handle: Handle) {
        if self.streams.get(handle).is_some_and(|stream| stream.internal) {
            self.feed_http3(index, handle);
        } else {
            self.queue_readable(handle);
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

    pub(super) fn flush_stream(&mut self, index: usize, handle: Handle) {
        let (Some(Some(connection)), Some(stream)) = (self.connections.get_mut(index), self.streams.get_mut(handle))
        else {
            return;
        };
        let before = stream.sending;
        let flushed = stream.flush(&mut connection.proto, connection.settings.high_water_mark);
        let finished = before != stream.sending && stream.finished();
        let blocked = stream.newly_blocked();
        if stream.internal {
            if finished {
                self.free(handle);
            }
            return;
        }
        if flushed.drained {
            self.notify_stream(Kind::Drain, handle, [0, 0]);
        }
        if finished {
            self.notify_end(Kind::Freed, handle, 0);
        }
        self.tell_blocked(handle, blocked);
    }

    /// Handles the peer's STOP_SENDING, which may be the first frame of a stream that the peer opens.
    fn stopped(&mut self, index: usize, id: qp::StreamId, code: qp::VarInt) {
        self.accept(index, id.dir());
        if let Some(handle) = self.by_id(index, id) {
            self.stop_stream(index, handle, code);
        } else if let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.takes_streams(id.dir())
        {
            // The endpoint has freed the stream, but QUIC is still sending the rest of it. Before the connection accepts
            // streams, `accept` must find that the stream was stopped.
            let _ = connection.proto.send_stream(id).reset(code);
            self.mark(index);
        }
    }

    fn stop_stream(&mut self, index: usize, handle: Handle, code: qp::VarInt) {
        let (Some(stream), Some(Some(connection))) = (self.streams.get_mut(handle), self.connections.get_mut(index))
        else {
            return;
        };
        if !stream.stopped(&mut connection.proto, code) {
            return;
        }
        let internal = stream.internal;
        self.mark(index);
        if internal {
            self.internal_stopped(index, handle);
        } else {
            self.tell_stopped(handle);
            self.note_cancelled(index, handle);
        }
    }

    /// Reports to JavaScript that the peer has stopped a stream, if it has.
    pub(super) fn tell_stopped(&mut self, handle: Handle) {
        if let Some(stream) = self.streams.get(handle)
            && let Some(code) = stream.stop
            && !session_is_gone(stream, code)
        {
            let code = application_code(stream, code);
            self.notify_end(Kind::Stopped, handle, code);
        }
    }

    pub(super) fn open_waiting(&mut self, index: usize, dir: Dir) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(&handle) = connection.waiting(dir).front()
        {
            let Some(stream) = self.streams.get_mut(handle) else {
                connection.waiting(dir).pop_front();
                continue;
            };
            let Some(id) = connection.proto.streams().open(dir) else {
                return;
            };
            connection.waiting(dir).pop_front();
            connection.streams.insert(id, handle);
            stream.opened(id, connection);
            let asks = stream.internal;
            self.flush_stream(index, handle);
            if asks {
                self.internal_opened(index, handle);
            }
            self.mark(index);
        }
    }
}
