//! Ends sessions: reports the end to JavaScript once, closes the connection and forgets it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto as qp;
use quinn_proto::Dir;

use super::{Endpoint, canonical};
use crate::bridge::error::{Failure, Source};
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::Kind;
use crate::quic::congestion::set_window_open;
use crate::quic::connection::Phase;

/// Interval and limit of a closing endpoint's wait for room in its socket.
const WAIT: Duration = Duration::from_millis(1);
const MOST_WAITS: usize = 50;

impl Endpoint {
    /// Reports the end of a connection to JavaScript, once, after the ends of its live streams. `None` is a silent end
    /// that QUIC reached after the application already knew.
    pub(super) fn end(&mut self, index: usize, failure: Option<Failure>) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.phase == Phase::Over {
            return;
        }
        let announced = connection.announced();
        let remote = canonical(connection.proto.remote_address());
        let dismissed = connection.incoming.then_some(connection.source);
        connection.phase = Phase::Over;
        set_window_open(&connection.proto, true);
        connection.early = false;
        let generation = connection.handle.generation;
        let mut live: Vec<Handle> = connection.streams.drain().map(|(_, handle)| handle).collect();
        live.extend(connection.waiting(Dir::Bi).drain(..));
        live.extend(connection.waiting(Dir::Uni).drain(..));
        if let Some(source) = dismissed {
            self.dismiss(index, source);
        }
        let web = self.connections[index].as_mut().and_then(|it| it.web.take());
        let failure = failure.unwrap_or_else(|| Failure::closed(0, String::new()));
        if !announced {
            self.counters.failed += 1;
            for stream in live {
                self.release_orphan(stream);
            }
            if failure.source == Source::Tls {
                let number = self.number(Failure {
                    remote: Some(remote),
                    ..failure
                });
                self.notify(Kind::HandshakeFailed, [number, 0, 0]);
            }
            return;
        }
        if let Some(web) = web {
            live = self.end_web_sessions(&web, live, &failure);
        }
        let number = self.number(failure);
        for stream in live {
            self.notify_stream(Kind::StreamClosed, stream, [number, 0]);
        }
        self.notify(Kind::Lost, [index as u32, generation, number]);
    }

    /// Stores a failure until JavaScript asks for it by number.
    pub(super) fn number(&mut self, failure: Failure) -> u32 {
        let number = self.next_failure;
        self.next_failure = self.next_failure.wrapping_add(1);
        self.failures.insert(number, failure);
        number
    }

    pub fn take_failure(&mut self, number: u32) -> Option<Failure> {
        self.failures.remove(&number)
    }

    pub fn close_session(&mut self, session: Session, code: u32, reason: &[u8]) {
        match session {
            Session::Quic(handle) => self.close_connection(handle, code, reason),
            Session::WebTransport(handle) => self.close_web_session(handle, code, reason),
        }
    }

    /// Sends CONNECTION_CLOSE with the next flush (RFC 9000 §10.2).
    pub fn close_connection(&mut self, handle: Handle, code: u32, reason: &[u8]) {
        let text = String::from_utf8_lossy(reason).into_owned();
        self.close_with(handle, code, reason, Failure::closed(code.into(), text));
    }

    pub(super) fn close_with(&mut self, handle: Handle, code: u32, reason: &[u8], failure: Failure) {
        let Some(connection) = self.connection(handle) else {
            return;
        };
        connection
            .proto
            .close(Instant::now(), code.into(), Bytes::copy_from_slice(reason));
        // The side that closes discards bytes that have arrived but were not yet delivered.
        let live: Vec<Handle> = connection.streams.values().copied().collect();
        for stream in live {
            self.set_paused(stream, true);
        }
        let index = handle.index as usize;
        self.end(index, Some(failure));
        self.mark(index);
    }

    /// Closes every session and sends the packets for it.
    pub fn close_all(&mut self, code: u32, reason: &[u8]) {
        self.closing = true;
        self.admission = None;
        self.proto.set_server_config(None);
        let open: Vec<Handle> = self.connections.iter().flatten().map(|c| c.handle).collect();
        for handle in open {
            self.close_connection(handle, code, reason);
        }
        self.flush_all();
    }

    /// Sends all pending packets now, because the process may be about to end.
    fn flush_all(&mut self) {
        let mut patience = MOST_WAITS;
        while !self.dirty.is_empty() {
            self.flush();
            if self.socket.blocked() {
                if patience == 0 {
                    return;
                }
                patience -= 1;
                std::thread::sleep(WAIT);
                self.socket.writable();
            }
        }
    }

    /// Frees the places of drained connections once JavaScript knows of their end. Otherwise a dial could take the
    /// place of a connection whose end is not reported yet, and unread bytes would be lost.
    pub fn reap(&mut self) {
        for (index, event) in std::mem::take(&mut self.drained) {
            self.proto.handle_event(qp::ConnectionHandle(index), event);
            let Some(connection) = self.connections[index].take() else {
                continue;
            };
            self.held -= usize::from(connection.incoming);
            self.forget_pending(&connection.pending, connection.source);
            self.memory_trim.schedule(Instant::now());
            if let Some(at) = connection.scheduled {
                self.timers.remove(&(at, index));
            }
        }
    }

    /// Drops all state without notifying the peers, after a panic.
    pub fn abandon(&mut self) {
        self.connections.clear();
        self.queued.clear();
        self.readable.clear();
        self.datagrams.clear();
        self.drained.clear();
        self.dirty.clear();
        self.timers.clear();
    }
}
