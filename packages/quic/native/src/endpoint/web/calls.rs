//! Operations on WebTransport sessions that JavaScript calls.

use std::time::{Duration, Instant};

use quinn_proto::Dir;

use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::endpoint::Endpoint;
use crate::endpoint::web::state::WebSession;
use crate::http3::{Fields, Http3, Request, codes};
use crate::quic::connection::{Connection, Phase};

/// Minimum time that a server has to acknowledge a session's end: enough for a retransmission or two, and a briefly
/// busy process.
const LEAST_FAREWELL: Duration = Duration::from_secs(1);
const FAREWELL_ROUND_TRIPS: u32 = 6;

impl Endpoint {
    /// Requests a session as a client; a `Connected` or `Lost` record follows.
    pub fn ask_session(&mut self, connection: Handle, request: Request) -> Result<Handle, Failure> {
        let speaks = self
            .connection(connection)
            .is_some_and(|connection| connection.web.is_some());
        let stream = speaks.then(|| self.open_internal(connection, Dir::Bi)).flatten();
        let Some(stream) = stream else {
            return Err(Failure::session_closed());
        };
        let Some(session) = self.sessions.insert(WebSession::new(connection, None, request)) else {
            return Err(Failure::option(
                "this endpoint has reached the maximum number of open sessions",
            ));
        };
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.session = Some(session);
        }
        if let Some(connection) = self.connection(connection) {
            connection.leaves = None;
        }
        self.internal_opened(connection.index as usize, stream);
        Ok(Session::WebTransport(session).handle())
    }

    /// Takes the request of a server's session. Later calls return nothing.
    pub fn session_request(&mut self, session: Handle) -> Option<Request> {
        self.sessions.get_mut(session)?.request.take()
    }

    /// Takes the server's response to a client's request: subprotocol and header fields. Later calls return nothing.
    pub fn session_answer(&mut self, session: Handle) -> Option<(Option<String>, Fields)> {
        self.sessions.get_mut(session)?.answer.take()
    }

    /// Runs `act` on a session's HTTP/3 connection, with the session's id. Does nothing if either has ended.
    pub(in crate::endpoint) fn with_http3(&mut self, session: Handle, act: impl FnOnce(&mut Http3, u64)) {
        let Some((connection, id)) = self.sessions.get(session).map(|state| (state.connection, state.id)) else {
            return;
        };
        if let Some(state) = self.connection(connection)
            && let (Some(web), Some(id)) = (&mut state.web, id)
        {
            act(&mut web.http3, id);
            self.act_http3(connection.index as usize);
        }
    }

    pub fn accept_session(&mut self, session: Handle, protocol: Option<&str>, fields: &Fields) {
        self.with_http3(session, |http3, id| http3.accept(id, protocol, fields));
        if self.admission.as_ref().is_some_and(|it| !it.limits.manual) {
            self.admit_session(Session::WebTransport(session));
        }
    }

    pub fn reject_session(&mut self, session: Handle, status: u16, fields: &Fields) {
        self.with_http3(session, |http3, id| http3.reject(id, status, fields));
        self.end_web_session(session, Failure::closed(0, String::new()));
    }

    pub(in crate::endpoint) fn close_web_session(&mut self, session: Handle, code: u32, reason: &[u8]) {
        let streams: Vec<Handle> = self.streams_of(session);
        let ids = streams.iter().filter_map(|&stream| self.streams.get(stream)?.id);
        let ids: Vec<u64> = ids.map(u64::from).collect();
        for stream in streams {
            // The side that closes discards bytes that have arrived but were not yet delivered.
            self.set_paused(stream, true);
        }
        let text = String::from_utf8_lossy(reason).into_owned();
        let connection = self.sessions.get(session).map(|state| state.connection);
        let late = connection.and_then(|connection| self.close_delayed_until(connection));
        let mut held = None;
        self.with_http3(session, |http3, id| {
            match late {
                None => http3.close(id, code, reason),
                Some(due) => held = http3.part(id, code, reason).map(|capsule| (due, id, capsule)),
            }
            for stream in ids {
                http3.leave(id, stream);
            }
        });
        if let (Some((due, id, capsule)), Some(connection)) = (held, connection) {
            self.delay_close(connection, due, id, capsule);
        }
        self.end_web_session(session, Failure::closed(code.into(), text));
        if let Some(connection) = connection {
            self.plan_to_leave(connection);
        }
    }

    /// Plans the close of a client's connection without sessions: after the server has acknowledged the last session's
    /// end, or after a timeout if the server has vanished.
    fn plan_to_leave(&mut self, handle: Handle) {
        if let Some(connection) = self.connection(handle)
            && !connection.incoming
            && connection.phase != Phase::Over
            && connection.web.as_ref().is_some_and(|web| web.sessions.is_empty())
        {
            connection.leaves =
                Some(Instant::now() + LEAST_FAREWELL.max(connection.proto.rtt() * FAREWELL_ROUND_TRIPS));
            self.mark(handle.index as usize);
        }
    }

    pub(in crate::endpoint) fn leave(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        connection.leaves = None;
        let handle = connection.handle;
        if connection.web.as_ref().is_some_and(|web| web.sessions.is_empty()) {
            self.close_connection(handle, codes::NO_ERROR as u32, b"");
        }
    }

    pub(in crate::endpoint) fn streams_of(&mut self, session: Handle) -> Vec<Handle> {
        let Some(connection) = self.sessions.get(session).map(|state| state.connection) else {
            return Vec::new();
        };
        let all: Vec<Handle> = self
            .connection(connection)
            .map_or_else(Vec::new, |connection| connection.streams.values().copied().collect());
        let belongs = |&stream: &Handle| {
            self.streams
                .get(stream)
                .is_some_and(|stream| stream.session == Some(session) && !stream.internal)
        };
        all.into_iter().filter(belongs).collect()
    }

    /// Sends DRAIN_WEBTRANSPORT_SESSION, and for a whole connection GOAWAY as well.
    pub fn drain_session(&mut self, session: Session) {
        match session {
            Session::WebTransport(session) => self.with_http3(session, |http3, id| http3.drain(id)),
            Session::Quic(handle) => {
                if let Some(connection) = self.connection(handle)
                    && let Some(web) = &mut connection.web
                {
                    web.http3.go_away();
                    self.act_http3(handle.index as usize);
                }
            }
        }
    }

    pub(in crate::endpoint) fn open_web_stream(&mut self, session: Handle, dir: Dir) -> Result<Handle, Failure> {
        let state = self.sessions.get_mut(session).ok_or_else(Failure::session_closed)?;
        let header = state.headers[dir as usize].clone();
        let owner = state.connection;
        let credit = state.data_credit();
        let waits = state.credit.as_mut().is_some_and(|credit| !credit.take_stream(dir));
        let handle = if waits {
            self.make_waiting_stream(session, owner, dir)?
        } else {
            self.open_quic_stream(owner, dir)?
        };
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.session = Some(session);
            stream.credit = credit;
            stream.begin(header);
            self.gathering.push(handle);
        }
        self.mark(owner.index as usize);
        Ok(handle)
    }

    /// Returns the QUIC connection that carries a session.
    pub fn connection_of(&mut self, session: Session) -> Option<&mut Connection> {
        let handle = match session {
            Session::Quic(handle) => handle,
            Session::WebTransport(session) => self.sessions.get(session)?.connection,
        };
        self.connection(handle)
    }
}
