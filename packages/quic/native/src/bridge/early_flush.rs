//! Decides when to send before JavaScript's turn of the event loop has ended. Writes of a turn usually leave together
//! at its end. In a long turn with many writes the peer would wait for all of them, and afterwards this side for the
//! peer; with many calls in flight each side would sleep while the other works.

use std::time::{Duration, Instant};

/// How long the first writes of a turn wait: several times the cost of sending and receiving them apart from the rest.
const FIRST: Duration = Duration::from_micros(50);
/// Each further part of a turn may wait twice as long, since the peer is busy, up to this.
const LONGEST: Duration = Duration::from_micros(200);
/// Fewer writes than this leave together, however long they take: sending costs more than they do. The clock is also
/// only read after this many.
const FEW: u32 = 8;

/// The writes of JavaScript's turn since the engine last sent.
#[derive(Debug)]
pub struct EarlyFlush {
    began: Option<Instant>,
    writes: u32,
    patience: Duration,
}

impl Default for EarlyFlush {
    fn default() -> EarlyFlush {
        EarlyFlush {
            began: None,
            writes: 0,
            patience: FIRST,
        }
    }
}

impl EarlyFlush {
    /// Called before JavaScript runs.
    pub fn begin(&mut self) {
        self.begin_at(Instant::now());
    }

    fn begin_at(&mut self, now: Instant) {
        *self = EarlyFlush {
            began: Some(now),
            ..EarlyFlush::default()
        };
    }

    /// Called when everything written has been sent.
    pub fn end(&mut self) {
        *self = EarlyFlush::default();
    }

    /// Called when JavaScript has written. Returns whether to send now.
    pub fn wrote(&mut self) -> bool {
        self.wrote_at(Instant::now)
    }

    fn wrote_at(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.writes += 1;
        if !self.writes.is_multiple_of(FEW) {
            return false;
        }
        let now = now();
        let sends = now.saturating_duration_since(*self.began.get_or_insert(now)) >= self.patience;
        if sends {
            self.began = Some(now);
            self.patience = LONGEST.min(2 * self.patience);
        }
        sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Simulates `writes` writes at intervals of `apart`. Returns after which ones to send.
    fn sends(turn: &mut EarlyFlush, writes: u32, apart: Duration) -> Vec<u32> {
        let begin = Instant::now();
        (1..=writes)
            .filter(|write| turn.wrote_at(|| begin + apart * *write))
            .collect()
    }

    #[test]
    fn a_short_turn_is_sent_when_it_ends() {
        assert_eq!(sends(&mut EarlyFlush::default(), 50, US), []);
    }

    #[test]
    fn a_long_turn_is_sent_in_parts_each_twice_as_long_up_to_a_bound() {
        assert_eq!(sends(&mut EarlyFlush::default(), 140, 5 * US), [24, 48, 88, 128]);
    }

    #[test]
    fn few_writes_leave_together_however_long_they_take() {
        assert_eq!(sends(&mut EarlyFlush::default(), 7, 1000 * US), []);
        assert_eq!(sends(&mut EarlyFlush::default(), 40, 1000 * US), [16, 24, 32, 40]);
    }

    #[test]
    fn it_begins_before_the_first_write_where_javascript_was_called() {
        let mut turn = EarlyFlush::default();
        turn.begin_at(Instant::now() - 50 * US);
        assert_eq!(sends(&mut turn, 10, US), [8]);
    }

    #[test]
    fn another_turn_is_as_any() {
        let mut turn = EarlyFlush::default();
        sends(&mut turn, 140, 5 * US);
        turn.end();
        assert_eq!(sends(&mut turn, 30, 5 * US), [24]);
    }
}
