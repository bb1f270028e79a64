//! Whether packets wait in a queue on the way, told from the time they take.

use std::time::{Duration, Instant};

/// A queue is seen when packets take longer than the shortest time ever seen by a quarter of it, and at least by this.
/// A quarter of a usual path is a few packets' time on a slow link, and above the noise of a quiet one.
const LEAST_DELAY: Duration = Duration::from_millis(1);

/// Round-trip times of one path.
#[derive(Clone, Debug, Default)]
pub struct QueueSense {
    /// Of the connection's life: after a change to a longer path every loss counts as congestion, which is safe.
    shortest: Option<Duration>,
    /// Smoothed over a few acknowledgements, so that one late one is not taken for a queue.
    recent: Duration,
}

impl QueueSense {
    /// Takes the newest packet that an acknowledgement covers.
    pub fn acknowledged(&mut self, now: Instant, sent: Instant) {
        let sample = now.saturating_duration_since(sent);
        self.recent = match self.shortest {
            None => sample,
            Some(_) => (self.recent * 3 + sample) / 4,
        };
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
    }

    /// Whether packets wait in a queue now.
    pub fn waiting(&self) -> bool {
        self.shortest
            .is_some_and(|shortest| self.recent > shortest + (shortest / 4).max(LEAST_DELAY))
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
        let mut sense = QueueSense::default();
        for i in 0..100 {
            sense.acknowledged(start + MS * (16 + i), start + MS * i);
            assert!(!sense.waiting());
        }
        sense.acknowledged(start + MS * 140, start + MS * 110);
        assert!(!sense.waiting());
    }

    #[test]
    fn packets_that_take_longer_and_longer_wait_in_a_queue() {
        let start = Instant::now();
        let mut sense = QueueSense::default();
        for i in 0..60 {
            sense.acknowledged(start + MS * (16 + 2 * i), start + MS * i);
        }
        assert!(sense.waiting());
    }
}
