//! Whether packets wait in a queue on the way, told from the time they take.

use std::time::{Duration, Instant};

/// A queue is seen when packets take longer than the shortest time ever seen by a quarter of it, and at least by this.
/// A quarter of a usual path is a few packets' time on a slow link, and above the noise of a quiet one.
const LEAST_DELAY: Duration = Duration::from_millis(1);

/// Slow start is left when even the fastest packet of a round trip took that much longer than the fastest of the round
/// before (HyStart++, RFC 9406 §4.2).
const ROUND_DELAY: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// Round-trip times of one path.
#[derive(Clone, Debug)]
pub struct QueueSense {
    /// Of the connection's life: after a change to a longer path every loss counts as congestion, which is safe.
    shortest: Option<Duration>,
    /// Smoothed over a few acknowledgements, so that one late one is not taken for a queue.
    recent: Duration,
    /// When the round under way began, and the shortest times in it and in the one before.
    round_began: Option<Instant>,
    in_round: Option<Duration>,
    in_last_round: Option<Duration>,
}

impl QueueSense {
    pub fn new() -> Self {
        QueueSense {
            shortest: None,
            recent: Duration::ZERO,
            round_began: None,
            in_round: None,
            in_last_round: None,
        }
    }

    /// Takes the newest packet that an acknowledgement covers. Returns whether a queue has begun to build up over the
    /// last whole round trip.
    pub fn acknowledged(&mut self, now: Instant, sent: Instant) -> bool {
        let sample = now.saturating_duration_since(sent);
        self.recent = match self.shortest {
            None => sample,
            Some(_) => (self.recent * 3 + sample) / 4,
        };
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
        self.in_round = Some(self.in_round.map_or(sample, |least| least.min(sample)));
        // A packet sent after the round began has been acknowledged: the round is over.
        if self.round_began.is_some_and(|began| sent < began) {
            return false;
        }
        let grown = match (self.in_last_round, self.in_round) {
            (Some(before), Some(now)) => now >= before + (before / 8).clamp(ROUND_DELAY.0, ROUND_DELAY.1),
            _ => false,
        };
        self.round_began = Some(now);
        self.in_last_round = self.in_round.take();
        grown
    }

    /// Whether packets wait in a queue now.
    pub fn waiting(&self) -> bool {
        let Some(shortest) = self.shortest else {
            return false;
        };
        self.recent > shortest + (shortest / 4).max(LEAST_DELAY)
    }

    /// The smoothed round-trip time.
    pub fn recent(&self) -> Duration {
        self.recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_steady_path_has_no_queue_and_one_late_packet_makes_none() {
        let start = Instant::now();
        let mut sense = QueueSense::new();
        for i in 0..100 {
            assert!(!sense.acknowledged(start + MS * (16 + i), start + MS * i));
        }
        sense.acknowledged(start + MS * 140, start + MS * 110);
        assert!(!sense.waiting());
    }

    #[test]
    fn packets_that_take_longer_and_longer_wait_in_a_queue() {
        let start = Instant::now();
        let mut sense = QueueSense::new();
        sense.acknowledged(start + MS * 16, start);
        let mut grown = false;
        for i in 0..60 {
            grown |= sense.acknowledged(start + MS * (16 + 2 * i), start + MS * i);
        }
        assert!(grown);
        assert!(sense.waiting());
    }
}
