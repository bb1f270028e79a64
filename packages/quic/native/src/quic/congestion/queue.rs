//! Detects from round-trip times whether packets wait in a queue on the path.

use std::time::{Duration, Instant};

/// A queue is detected when packets take a quarter longer than the shortest time ever seen, and at least this much
/// longer. A quarter of a usual path is a few packets' time on a slow link, and above the noise of a quiet one.
const LEAST_DELAY: Duration = Duration::from_millis(1);

/// The shortest of this many consecutive round trips counts (RFC 9406 §4.2, N_RTT_SAMPLE): a queue delays all of them,
/// a busy processor or a late acknowledgement only some.
const SAMPLES: usize = 8;

/// Round-trip times of one path.
#[derive(Clone, Debug)]
pub struct QueueSense {
    /// The shortest round trip since the connection began: after a change to a longer path every loss counts as congestion,
    /// which is safe.
    shortest: Option<Duration>,
    /// The latest samples, as a ring.
    samples: [Duration; SAMPLES],
    next: usize,
}

impl Default for QueueSense {
    fn default() -> Self {
        QueueSense {
            shortest: None,
            samples: [Duration::MAX; SAMPLES],
            next: 0,
        }
    }
}

impl QueueSense {
    /// Adds the round trip of the newest packet that an acknowledgement covers.
    pub fn acknowledged(&mut self, now: Instant, sent: Instant) {
        let sample = now.saturating_duration_since(sent);
        self.samples[self.next] = sample;
        self.next = (self.next + 1) % SAMPLES;
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
    }

    /// Whether packets wait in a queue now.
    pub fn waiting(&self) -> bool {
        self.shortest
            .is_some_and(|shortest| self.recent() > shortest + (shortest / 4).max(LEAST_DELAY))
    }

    /// The recent round-trip time; `Duration::MAX` before the first sample.
    pub fn recent(&self) -> Duration {
        self.samples.iter().copied().min().unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_steady_path_has_no_queue_and_late_packets_among_others_make_none() {
        let start = Instant::now();
        let mut sense = QueueSense::default();
        for i in 0..100 {
            let late = if i % 4 == 3 { 0 } else { i % 4 * 20 };
            sense.acknowledged(start + MS * (16 + i + late), start + MS * i);
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
