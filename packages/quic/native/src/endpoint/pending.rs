//! Accepted connections without a session: their limits, their timeout, and their admission.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto as qp;
use quinn_proto::Dir;

use super::Endpoint;
use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::endpoint::web::state::Web;
use crate::http3::codes;
use crate::quic::connection::Phase;

/// Maximum number of bytes that a peer may send before admission, and of streams that it may open in either direction.
pub const PENDING_WINDOW: u64 = 64 * 1024;
pub const PENDING_STREAMS: u64 = 16;
/// How long a connection stays open after its last session, for a session that its client is opening. Browsers keep
/// theirs open.
const BETWEEN_SESSIONS: Duration = Duration::from_secs(1);
/// How long a connection stays open after its last request of plain HTTP; the same as for HTTP/2 over TCP.
const BETWEEN_REQUESTS: Duration = Duration::from_secs(120);
/// Maximum number of bytes of datagrams that wait for their session's admission, and the overhead charged for each.
const HELD_DATAGRAM_BYTES: usize = 16 * 1024;
const DATAGRAM_OVERHEAD: usize = 64;

/// Stages that an accepted connection passes before it carries a session.
#[derive(Default)]
pub struct Pending {
    /// Whether it counts among the connections without a session.
    counted: bool,
    /// Time by which it must carry a session.
    deadline: Option<Instant>,
    allowed: Duration,
    /// Time at which it is closed if it carries no session and no request by then.
    idle: Option<Instant>,
    /// Number of admitted sessions that it carries.
    sessions: usize,
    /// Whether its streams are accepted with full windows.
    open: bool,
    /// Whether the first bidirectional stream of a connection without HTTP/3 is accepted before admission.
    greeting: bool,
    /// Datagrams that arrived for sessions that are not admitted yet, by the session's index.
    datagrams: Vec<(u32, Bytes)>,
    datagram_bytes: usize,
}

impl Pending {
    /// Returns the state of a dialled connection, which needs no admission.
    pub fn dialled() -> Self {
        Pending {
            open: true,
            ..Pending::default()
        }
    }

    pub fn accepted(now: Instant, allowed: Duration) -> Self {
        Pending {
            counted: true,
            deadline: Some(now + allowed),
            allowed,
            ..Pending::default()
        }
    }

    /// Notes that the connection carries nothing from now on.
    pub fn idle_from(&mut self, now: Instant) {
        self.idle = Some(now + BETWEEN_REQUESTS);
    }

    /// Accepts its streams from now on, with full windows. Returns whether they were accepted before.
    pub fn open(&mut self) -> bool {
        std::mem::replace(&mut self.open, true)
    }

    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether streams of this direction are accepted now.
    pub fn takes(&self, dir: Dir) -> bool {
        self.open || (self.greeting && dir == Dir::Bi)
    }

    /// Notes an accepted stream: only one is accepted before admission.
    pub fn note_stream(&mut self) {
        self.greeting = false;
    }

    /// Keeps a copy of a datagram if there is room. It is copied because the packet that contains it may be large.
    pub fn hold_datagram(&mut self, session: u32, datagram: &[u8]) {
        let bytes = datagram.len() + DATAGRAM_OVERHEAD;
        if self.datagram_bytes + bytes <= HELD_DATAGRAM_BYTES {
            self.datagram_bytes += bytes;
            self.datagrams.push((session, Bytes::copy_from_slice(datagram)));
        }
    }

    fn release_datagrams(&mut self, session: u32) -> Vec<(u32, Bytes)> {
        let released: Vec<_> = self.datagrams.extract_if(.., |(other, _)| *other == session).collect();
        let bytes: usize = released.iter().map(|(_, held)| held.len() + DATAGRAM_OVERHEAD).sum();
        self.datagram_bytes -= bytes;
        released
    }
}

impl Endpoint {
    /// Admits a session: counts it and accepts its data from now on. Returns false if there is no room for another
    /// session.
    pub fn admit_session(&mut self, session: Session) -> bool {
        let Some(handle) = self.connection_of(session).map(|connection| connection.handle) else {
            return true;
        };
        if self
            .admission
            .as_ref()
            .is_some_and(|it| self.admitted >= it.limits.sessions)
        {
            self.counters.refused += 1;
            return false;
        }
        let index = handle.index as usize;
        if let Session::WebTransport(key) = session
            && let Some(state) = self.sessions.get_mut(key)
            && !state.admitted
        {
            state.admitted = true;
            let streams = std::mem::take(&mut state.waiting);
            self.count_session(index);
            self.announce_waiting(session, streams);
        } else if let Session::Quic(_) = session
            && self
                .connection(handle)
                .is_some_and(|it| !it.pending.open && it.incoming)
        {
            self.count_session(index);
            self.accept(index, Dir::Bi);
            self.accept(index, Dir::Uni);
        }
        if let Some(connection) = self.connection(handle) {
            let datagrams = connection.pending.release_datagrams(session.handle().index);
            self.datagrams.extend(datagrams);
        }
        self.mark(index);
        true
    }

    /// Accepts the first bidirectional stream of a session before its admission; it carries the client's greeting.
    pub fn greet_session(&mut self, session: Session) {
        let Some(handle) = self.connection_of(session).map(|connection| connection.handle) else {
            return;
        };
        let index = handle.index as usize;
        if let Session::WebTransport(key) = session
            && let Some(state) = self.sessions.get_mut(key).filter(|it| it.awaits_admission())
        {
            state.greeting = true;
            self.announce_first(key);
        } else if let Session::Quic(_) = session
            && let Some(connection) = self.connection(handle).filter(|it| !it.pending.open && it.incoming)
        {
            connection.pending.greeting = true;
            self.accept(index, Dir::Bi);
        }
        self.mark(index);
    }

    /// Announces the bidirectional stream that a session's client opened first. Another stream's bytes may arrive
    /// before, so this waits until the session of every earlier stream is known.
    pub(super) fn announce_first(&mut self, key: Handle) {
        let Some(state) = self.sessions.get(key).filter(|it| it.greeting && it.awaits_admission()) else {
            return;
        };
        let id_of = |&stream: &Handle| self.streams.get(stream)?.id.filter(|id| id.dir() == Dir::Bi);
        let waiting = state.waiting.iter().enumerate();
        let Some((id, first)) = waiting.filter_map(|(at, stream)| Some((id_of(stream)?, at))).min() else {
            return;
        };
        let connection = self.connections.get(state.connection.index as usize);
        let web = connection.and_then(|it| it.as_ref()?.web.as_ref());
        if web.is_none_or(|web| web.http3.undecided_before(id.into())) {
            return;
        }
        if let Some(state) = self.sessions.get_mut(key) {
            state.greeting = false;
            let stream = state.waiting.remove(first);
            self.announce_waiting(Session::WebTransport(key), vec![stream]);
        }
    }

    /// Announces the first stream of each session of a connection that waits for it.
    pub(super) fn announce_first_of_each(&mut self, index: usize) {
        if let Some(Some(connection)) = self.connections.get(index)
            && let Some(web) = &connection.web
            && (!connection.pending.is_open() || web.sessions.len() > 1)
        {
            let sessions: Vec<Handle> = web.sessions.values().copied().collect();
            for session in sessions {
                self.announce_first(session);
            }
        }
    }

    /// Counts an admitted session of a connection.
    pub(super) fn count_session(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        self.admitted += 1;
        connection.pending.sessions += 1;
        connection.open_wide();
        if !connection.handshaking() {
            self.no_longer_pending(index);
        }
    }

    /// Announces the streams of a session that waited for its admission.
    fn announce_waiting(&mut self, session: Session, streams: Vec<Handle>) {
        for handle in streams {
            if let Some(stream) = self.streams.get_mut(handle)
                && let Some(id) = stream.id
            {
                stream.paused = false;
                self.announce(session.handle().index, handle, id.dir());
                self.tell_stopped(handle);
                self.queue_readable(handle);
            }
        }
    }

    /// Called when the handshake of a connection that carries a session is complete, or a session of it was admitted.
    pub(super) fn no_longer_pending(&mut self, index: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.pending.sessions > 0
            && std::mem::take(&mut connection.pending.counted)
        {
            connection.pending.deadline = None;
            let source = connection.source;
            self.release_pending(source);
        }
    }

    /// Called when an admitted WebTransport session has ended. A connection without another one is pending again.
    pub(super) fn session_over(&mut self, connection: Handle) {
        self.admitted -= 1;
        let Some(connection) = self.connection(connection) else {
            return;
        };
        connection.pending.sessions -= 1;
        connection.pending.idle_from(Instant::now());
        if connection.pending.sessions > 0 || connection.phase != Phase::Live {
            return;
        }
        connection.pending.counted = true;
        connection.pending.deadline = Some(Instant::now() + connection.pending.allowed.min(BETWEEN_SESSIONS));
        let (source, index) = (connection.source, connection.handle.index as usize);
        self.handshaking += 1;
        if let Some(source) = source {
            self.by_source.entry(source).or_default().pending += 1;
        }
        self.mark(index);
    }

    /// Called when an accepted connection ends. One that never became a session counts for its address until QUIC has
    /// forgotten it.
    pub(super) fn pending_over(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        self.admitted -= match &connection.web {
            None => connection.pending.sessions,
            // WebTransport sessions end one by one.
            Some(web) => usize::from(web.serves),
        };
        self.handshaking -= usize::from(connection.pending.counted);
    }

    pub(super) fn forget_pending(&mut self, pending: &Pending, source: Option<std::net::IpAddr>) {
        if pending.counted {
            // `pending_over` has already subtracted it, and `release_pending` does so again.
            self.handshaking += 1;
            self.release_pending(source);
        }
    }

    fn release_pending(&mut self, source: Option<std::net::IpAddr>) {
        self.handshaking -= 1;
        self.with_share(source, |share| share.pending -= 1);
    }

    /// Time at which a connection without a session is closed. JavaScript decides about a session once it has been
    /// announced.
    pub(super) fn pending_deadline(&self, index: usize) -> Option<Instant> {
        let connection = self.connections.get(index)?.as_ref()?;
        let carries_none = |web: &Web| web.sessions.is_empty() && web.http3.plain_requests() == 0;
        let bare = connection.web.as_deref().is_some_and(carries_none);
        let waits = connection.phase != Phase::Over && (connection.handshaking() || bare);
        let pending = &connection.pending;
        pending
            .deadline
            .or(connection.give_up)
            .or(pending.idle)
            .filter(|_| waits)
    }

    /// How long an unadmitted session may stay open. None: without limit.
    pub fn remaining(&mut self, session: Session) -> Option<Duration> {
        let deadline = self.connection_of(session)?.pending.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    pub(super) fn give_up_pending(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let (handle, remote) = (connection.handle, super::canonical(connection.proto.remote_address()));
        let (code, reason): (u32, &[u8]) = if connection.handshaking() {
            (0, b"")
        } else {
            (
                codes::NO_ERROR as u32,
                b"no session or request on this connection in time",
            )
        };
        self.close_with(handle, code, reason, Failure::handshake_timeout(remote));
    }
}

/// Applies the limits of an accepted connection until one of its sessions is admitted.
pub fn narrow(transport: &mut qp::TransportConfig, streams: [u64; 2], window: u64) {
    let varint = |value: u64| qp::VarInt::from_u64(value).unwrap_or(qp::VarInt::MAX);
    transport
        .receive_window(varint(window.min(PENDING_WINDOW)))
        .max_concurrent_bidi_streams(varint(streams[Dir::Bi as usize].min(PENDING_STREAMS)))
        .max_concurrent_uni_streams(varint(streams[Dir::Uni as usize].min(PENDING_STREAMS)));
}
