//! Ends of sessions: closed by either side, drained, lost, or refused by a server that is shutting down.

use super::connection::{Action, End, Http3, Role};
use super::streams::Stream;
use super::{capsule, codes, frames, varint};

impl Http3 {
    /// Ends a session: sends CLOSE_WEBTRANSPORT_SESSION and FIN or, before it is open, cancels the request.
    pub fn close(&mut self, session: u64, code: u32, reason: &[u8]) {
        if let Some(capsule) = self.part(session, code, reason) {
            self.send_close(session, capsule);
        }
    }

    /// Like `close`, but the peer learns of an open session's end only when `send_close` sends the returned capsule.
    pub fn part(&mut self, session: u64, code: u32, reason: &[u8]) -> Option<Vec<u8>> {
        let open = self.sessions.remove(&session)?.is_open();
        if open {
            // Keep reading until the peer's FIN, which acknowledges the end.
            self.streams.insert(session, Stream::Closing);
        } else {
            self.abandon(session, codes::REQUEST_CANCELLED);
            self.check_idle();
        }
        self.refuse_held(session, codes::WT_SESSION_GONE);
        open.then(|| capsule::close(code, reason))
    }

    pub fn send_close(&mut self, session: u64, capsule: Vec<u8>) {
        self.actions.push_back(Action::Write {
            stream: session,
            bytes: capsule,
            end: true,
        });
    }

    /// Keeps a stream of a session that was just closed: its resets wait until the peer has acknowledged the close.
    /// They would overtake CLOSE_WEBTRANSPORT_SESSION, and Chromium would report them as the peer's with code 0 before
    /// it reports the session's end.
    pub fn leave(&mut self, session: u64, stream: u64) {
        if self.is_closing(session) {
            self.streams.insert(stream, Stream::Left { session });
        }
    }

    pub fn is_left(&self, stream: u64) -> bool {
        matches!(self.streams.get(&stream), Some(Stream::Left { .. }))
    }

    pub(super) fn is_closing(&self, session: u64) -> bool {
        matches!(self.streams.get(&session), Some(Stream::Closing))
    }

    /// Called when the peer has acknowledged the session's end.
    pub(super) fn parted(&mut self, session: u64) {
        let of_it = |stream: &Stream| matches!(stream, Stream::Left { session: of } if *of == session);
        let mut left: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, stream)| of_it(stream))
            .map(|(&id, _)| id)
            .collect();
        left.sort_unstable();
        for stream in left {
            self.abandon(stream, codes::WT_SESSION_GONE);
        }
        self.check_idle();
    }

    /// Asks the peer to finish the session: DRAIN_WEBTRANSPORT_SESSION.
    pub fn drain(&mut self, session: u64) {
        self.write_capsule(session, capsule::drain());
    }

    /// Server: accepts no further sessions on this connection, and asks the peer to finish the existing ones (RFC 9114
    /// §5.2).
    pub fn go_away(&mut self) {
        if self.role == Role::Client || self.goaway.is_some() {
            return;
        }
        self.goaway = Some(self.next_request);
        let mut id = Vec::new();
        varint::put(self.next_request, &mut id);
        self.actions
            .push_back(Action::Control(frames::encode(frames::GOAWAY, &id)));
        for session in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.drain(session);
        }
    }

    /// Client: the server refuses requests from `first` on.
    pub(super) fn refused_from(&mut self, first: u64) {
        if !first.is_multiple_of(4) || self.goaway.is_some_and(|before| first > before) {
            return self.fail(codes::ID_ERROR, "GOAWAY with an impossible stream id");
        }
        self.goaway = Some(first);
        for session in self.sessions.keys().copied().collect::<Vec<_>>() {
            let known = self.sessions.get(&session);
            if session >= first && known.is_some_and(|known| !known.is_open()) {
                let why = "the server takes no more sessions on this connection (GOAWAY)";
                self.abandon_session(session, codes::REQUEST_CANCELLED, End::Unavailable { why });
            } else {
                self.draining(session);
            }
        }
        self.actions.push_back(Action::Refused { first });
    }

    pub(super) fn draining(&mut self, session: u64) {
        if let Some(state) = self.sessions.get_mut(&session)
            && state.is_open()
            && !std::mem::replace(&mut state.draining, true)
        {
            self.actions.push_back(Action::Draining { session });
        }
    }

    /// Called when the peer has ended the session: notifies the application and sends FIN to the peer.
    pub(super) fn ended(&mut self, session: u64, end: End) {
        self.sessions.remove(&session);
        self.actions.push_back(Action::Write {
            stream: session,
            bytes: Vec::new(),
            end: true,
        });
        self.actions.push_back(Action::Ended { session, end });
        self.refuse_held(session, codes::WT_SESSION_GONE);
        self.check_idle();
    }

    /// Called when the session's stream has failed.
    pub(super) fn abandon_session(&mut self, session: u64, code: u64, end: End) {
        if self.sessions.remove(&session).is_some() {
            self.actions.push_back(Action::Ended { session, end });
        }
        self.abandon(session, code);
        self.refuse_held(session, codes::WT_SESSION_GONE);
        self.check_idle();
    }

    pub(super) fn check_idle(&mut self) {
        let closing = |stream: &Stream| matches!(stream, Stream::Closing);
        if self.role == Role::Client && self.sessions.is_empty() && !self.streams.values().any(closing) {
            self.actions.push_back(Action::Idle);
        }
    }

    pub(super) fn refuse_held(&mut self, session: u64, code: u64) {
        for stream in self.held.release(session).0 {
            self.abandon(stream, code);
        }
    }
}
