//! Dialled sessions whose peer is silent: asks the application whether it waits, and then sends a PING.

use std::time::Instant;

use super::{Endpoint, canonical};
use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::Kind;

impl Endpoint {
    /// Asks JavaScript whether it waits for the peer, if that is due. For HTTP/3 the WebTransport sessions of the
    /// connection are asked instead.
    pub(super) fn ask_silent(&mut self, index: usize, now: Instant) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.asks().is_none_or(|at| at > now) {
            return;
        }
        let Some(unanswered) = connection.liveness.as_mut().map(|liveness| liveness.ask()) else {
            return;
        };
        let asked: Vec<Handle> = match &connection.web {
            Some(web) => web
                .sessions
                .values()
                .map(|&session| Session::WebTransport(session).handle())
                .collect(),
            None => vec![connection.handle],
        };
        for Handle { index, generation } in asked {
            self.notify(Kind::Silent, [index, generation, unanswered]);
        }
    }

    /// Called if calls of the session wait. Several sessions of one connection share a PING.
    pub fn ping(&mut self, session: Session) {
        let Some(connection) = self.connection_of(session) else {
            return;
        };
        let index = connection.handle.index as usize;
        if let Some(liveness) = &mut connection.liveness
            && liveness.is_asked()
        {
            liveness.ping(Instant::now());
            connection.proto.ping();
        }
        self.mark(index);
    }

    /// Called if no call of the session waits.
    pub fn idle(&mut self, session: Session) {
        if let Some(connection) = self.connection_of(session)
            && let Some(liveness) = &mut connection.liveness
            && liveness.is_asked()
        {
            liveness.idle();
        }
    }

    /// Handles an ICMP "port unreachable". It is ignored if a packet from the peer arrived after it (RFC 9000 §14.2.1).
    pub fn port_unreachable(&mut self, session: Session) {
        if let Some(connection) = self.connection_of(session)
            && connection.is_unheard()
        {
            let handle = connection.handle;
            let failure = Failure::port_unreachable(canonical(connection.proto.remote_address()));
            self.close_with(handle, 0, b"", failure);
        }
    }
}
