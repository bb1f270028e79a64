//! Delays the end of a session towards a browser page if one of the session's streams has just ended.

use std::time::{Duration, Instant};

use super::Endpoint;
use crate::handle::{Handle, Session};

/// Time allowed for due datagrams to leave.
const MARGIN: Duration = Duration::from_millis(10);

impl Endpoint {
    /// Notes that a stream of this session has ended, or that its peer was asked to stop sending.
    pub(super) fn note_end(&mut self, session: Option<Handle>) {
        let Some(session) = session else {
            return;
        };
        let of_page = self.sessions.get(session).filter(|session| session.of_page);
        if let Some(owner) = of_page.map(|session| session.connection)
            && let Some(web) = self.connection(owner).and_then(|it| it.web.as_mut())
        {
            web.farewells.note_end(Instant::now());
        }
    }

    /// Time at which the peer of a connection may learn of a session's end, if that must be delayed.
    pub(super) fn farewell_held(&mut self, connection: Handle) -> Option<Instant> {
        let web = self.connection(connection)?.web.as_ref()?;
        web.farewells.held_until(Instant::now())
    }

    pub(super) fn hold_farewell(&mut self, connection: Handle, due: Instant, session: u64, capsule: Vec<u8>) {
        if let Some(web) = self.connection(connection).and_then(|it| it.web.as_mut()) {
            web.farewells.hold(due, session, capsule);
            self.mark(connection.index as usize);
        }
    }

    pub(super) fn say_farewells(&mut self, index: usize, now: Instant) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
            && let Some((session, capsule)) = web.farewells.take(now)
        {
            web.http3.say_farewell(session, capsule);
            self.act_http3(index);
        }
    }

    /// Sends the ends that are due if the timer is late. Returns whether there were any.
    fn say_late_farewells(&mut self, now: Instant) -> bool {
        let connections = self.connections.iter().enumerate();
        let late: Vec<usize> = connections
            .filter_map(|(index, connection)| {
                let due = connection.as_ref()?.web.as_ref()?.farewells.due()?;
                (due <= now).then_some(index)
            })
            .collect();
        for &index in &late {
            self.say_farewells(index, now);
            self.mark(index);
        }
        !late.is_empty()
    }

    /// Ends every session whose page must learn of the end with a delay, and refuses new ones. Returns how long to wait
    /// until the next call, or None when `close_all` may follow.
    pub fn close_politely(&mut self, code: u32, reason: &[u8]) -> Option<Duration> {
        let now = Instant::now();
        let said = self.say_late_farewells(now).then_some(MARGIN);
        let webs = self.connections.iter().flatten().filter_map(|it| it.web.as_ref());
        let until = |web: &crate::web::Web| {
            let open = (!web.sessions.is_empty()).then(|| web.farewells.held_until(now));
            open.flatten().max(web.farewells.over())
        };
        let Some(last) = webs.filter_map(|web| until(web)).max() else {
            return said;
        };
        self.drain();
        let open: Vec<Handle> = self.connections.iter().flatten().map(|it| it.handle).collect();
        for handle in open {
            let web = self.connection(handle).and_then(|it| it.web.as_ref());
            let sessions = web
                .filter(|web| until(web).is_some())
                .map(|web| web.sessions.values().copied().collect());
            match sessions {
                None => self.close_connection(handle, code, reason),
                Some::<Vec<Handle>>(sessions) => {
                    for session in sessions {
                        self.close_session(Session::WebTransport(session), code, reason);
                    }
                    self.drain_session(Session::Quic(handle));
                }
            }
        }
        Some(last.saturating_duration_since(now) + MARGIN)
    }
}
