//! Ends of sessions that are sent to browser pages with a delay.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::bridge::handle::{Handle, Session};
use crate::endpoint::Endpoint;

/// Chromium ends the process of a page that learns of a session's end within a tenth of a second after the end of one
/// of its streams (docs/browsers.md). The rest is a margin for slow networks and processes.
const HOLD: Duration = Duration::from_millis(250);

/// A delayed capsule that ends the session with this id.
struct DelayedClose {
    due: Instant,
    session: u64,
    capsule: Vec<u8>,
}

/// Delayed ends of one connection's sessions. Each belongs to a request stream that is still open, so the stream limit
/// bounds them.
#[derive(Default)]
pub struct DelayedCloses {
    ended: Option<Instant>,
    held: VecDeque<DelayedClose>,
}

impl DelayedCloses {
    /// Notes that a stream of a page has ended, or that the page was asked to stop sending on it.
    pub fn note_end(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// Time until which an end decided now is delayed, if it must be.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        let due = self.ended? + HOLD;
        (due > now).then_some(due)
    }

    pub fn hold(&mut self, due: Instant, session: u64, capsule: Vec<u8>) {
        self.held.push_back(DelayedClose { due, session, capsule });
    }

    /// Time at which the next one is due. They are in this order because the latest end of a stream only moves forward.
    pub fn due(&self) -> Option<Instant> {
        self.held.front().map(|delayed_close| delayed_close.due)
    }

    /// Time at which all of them will have been sent.
    pub fn over(&self) -> Option<Instant> {
        self.held.back().map(|delayed_close| delayed_close.due)
    }

    /// Removes the next one that is due: its session and the capsule.
    pub fn take(&mut self, now: Instant) -> Option<(u64, Vec<u8>)> {
        self.due().filter(|&due| due <= now)?;
        let delayed_close = self.held.pop_front()?;
        Some((delayed_close.session, delayed_close.capsule))
    }
}

/// Time allowed for due datagrams to leave.
const MARGIN: Duration = Duration::from_millis(10);

impl Endpoint {
    /// Notes that a stream of this session has ended, or that its peer was asked to stop sending.
    pub(in crate::endpoint) fn note_end(&mut self, session: Option<Handle>) {
        let Some(session) = session else {
            return;
        };
        let of_page = self.sessions.get(session).filter(|session| session.of_page);
        if let Some(owner) = of_page.map(|session| session.connection)
            && let Some(web) = self.connection(owner).and_then(|it| it.web.as_mut())
        {
            web.delayed_closes.note_end(Instant::now());
        }
    }

    /// Time at which the peer of a connection may learn of a session's end, if that must be delayed.
    pub(in crate::endpoint) fn close_delayed_until(&mut self, connection: Handle) -> Option<Instant> {
        let web = self.connection(connection)?.web.as_ref()?;
        web.delayed_closes.held_until(Instant::now())
    }

    pub(in crate::endpoint) fn delay_close(
        &mut self,
        connection: Handle,
        due: Instant,
        session: u64,
        capsule: Vec<u8>,
    ) {
        if let Some(web) = self.connection(connection).and_then(|it| it.web.as_mut()) {
            web.delayed_closes.hold(due, session, capsule);
            self.mark(connection.index as usize);
        }
    }

    pub(in crate::endpoint) fn send_due_closes(&mut self, index: usize, now: Instant) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
            && let Some((session, capsule)) = web.delayed_closes.take(now)
        {
            web.http3.send_close(session, capsule);
            self.act_http3(index);
        }
    }

    /// Sends the ends that are due if the timer is late. Returns whether there were any.
    fn send_overdue_closes(&mut self, now: Instant) -> bool {
        let connections = self.connections.iter().enumerate();
        let late: Vec<usize> = connections
            .filter_map(|(index, connection)| {
                let due = connection.as_ref()?.web.as_ref()?.delayed_closes.due()?;
                (due <= now).then_some(index)
            })
            .collect();
        for &index in &late {
            self.send_due_closes(index, now);
            self.mark(index);
        }
        !late.is_empty()
    }

    /// Ends every session whose page must learn of the end with a delay, and refuses new ones. Returns how long to wait
    /// until the next call, or None when `close_all` may follow.
    pub fn close_politely(&mut self, code: u32, reason: &[u8]) -> Option<Duration> {
        let now = Instant::now();
        let said = self.send_overdue_closes(now).then_some(MARGIN);
        let webs = self.connections.iter().flatten().filter_map(|it| it.web.as_ref());
        let until = |web: &crate::endpoint::web::state::Web| {
            let open = (!web.sessions.is_empty()).then(|| web.delayed_closes.held_until(now));
            open.flatten().max(web.delayed_closes.over())
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

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    #[test]
    fn an_end_soon_after_that_of_a_stream_is_told_when_the_last_of_them_is_long_ago() {
        let begin = Instant::now();
        let mut delayed_closes = DelayedCloses::default();
        assert_eq!(delayed_closes.held_until(begin), None);
        delayed_closes.note_end(begin);
        delayed_closes.note_end(begin + MOMENT);
        let due = delayed_closes.held_until(begin + 2 * MOMENT).unwrap();
        assert_eq!(due, begin + MOMENT + HOLD);
        assert_eq!(delayed_closes.held_until(due), None);
    }

    #[test]
    fn what_is_held_leaves_in_order_each_when_it_is_due() {
        let begin = Instant::now();
        let mut delayed_closes = DelayedCloses::default();
        delayed_closes.hold(begin + MOMENT, 0, vec![1]);
        delayed_closes.hold(begin + 2 * MOMENT, 4, vec![2]);
        assert_eq!(delayed_closes.over(), Some(begin + 2 * MOMENT));
        assert_eq!(delayed_closes.take(begin), None);
        assert_eq!(delayed_closes.take(begin + MOMENT), Some((0, vec![1])));
        assert_eq!(delayed_closes.take(begin + MOMENT), None);
        assert_eq!(delayed_closes.due(), Some(begin + 2 * MOMENT));
        assert_eq!(delayed_closes.take(begin + 2 * MOMENT), Some((4, vec![2])));
        assert_eq!((delayed_closes.due(), delayed_closes.over()), (None, None));
    }
}
