//! Ends of sessions that are sent to browser pages with a delay.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Chromium ends the process of a page that learns of a session's end within a tenth of a second after the end of one
/// of its streams (docs/browsers.md). The rest is a margin for slow networks and processes.
const HOLD: Duration = Duration::from_millis(250);

/// A delayed capsule that ends the session with this id.
struct Farewell {
    due: Instant,
    session: u64,
    capsule: Vec<u8>,
}

/// Delayed ends of one connection's sessions. Each belongs to a request stream that is still open, so the stream limit
/// bounds them.
#[derive(Default)]
pub struct Farewells {
    ended: Option<Instant>,
    held: VecDeque<Farewell>,
}

impl Farewells {
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
        self.held.push_back(Farewell { due, session, capsule });
    }

    /// Time at which the next one is due. They are in this order because the latest end of a stream only moves forward.
    pub fn due(&self) -> Option<Instant> {
        self.held.front().map(|farewell| farewell.due)
    }

    /// Time at which all of them will have been sent.
    pub fn over(&self) -> Option<Instant> {
        self.held.back().map(|farewell| farewell.due)
    }

    /// Removes the next one that is due: its session and the capsule.
    pub fn take(&mut self, now: Instant) -> Option<(u64, Vec<u8>)> {
        self.due().filter(|&due| due <= now)?;
        let farewell = self.held.pop_front()?;
        Some((farewell.session, farewell.capsule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    #[test]
    fn an_end_soon_after_that_of_a_stream_is_told_when_the_last_of_them_is_long_ago() {
        let begin = Instant::now();
        let mut farewells = Farewells::default();
        assert_eq!(farewells.held_until(begin), None);
        farewells.note_end(begin);
        farewells.note_end(begin + MOMENT);
        let due = farewells.held_until(begin + 2 * MOMENT).unwrap();
        assert_eq!(due, begin + MOMENT + HOLD);
        assert_eq!(farewells.held_until(due), None);
    }

    #[test]
    fn what_is_held_leaves_in_order_each_when_it_is_due() {
        let begin = Instant::now();
        let mut farewells = Farewells::default();
        farewells.hold(begin + MOMENT, 0, vec![1]);
        farewells.hold(begin + 2 * MOMENT, 4, vec![2]);
        assert_eq!(farewells.over(), Some(begin + 2 * MOMENT));
        assert_eq!(farewells.take(begin), None);
        assert_eq!(farewells.take(begin + MOMENT), Some((0, vec![1])));
        assert_eq!(farewells.take(begin + MOMENT), None);
        assert_eq!(farewells.due(), Some(begin + 2 * MOMENT));
        assert_eq!(farewells.take(begin + 2 * MOMENT), Some((4, vec![2])));
        assert_eq!((farewells.due(), farewells.over()), (None, None));
    }
}
