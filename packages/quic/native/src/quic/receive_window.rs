//! The receive window of a connection or of its streams, which grows with the path's and the reader's speed.

use std::time::{Duration, Instant};

/// Grows only if the window limits the rate, and not the peer, the path or the reader.
#[derive(Debug)]
pub struct ReceiveWindow {
    size: u64,
    ceiling: u64,
    /// Bytes read since `since`.
    read: u64,
    since: Instant,
}

impl ReceiveWindow {
    pub fn new(size: u64, ceiling: u64, now: Instant) -> Self {
        ReceiveWindow {
            size,
            ceiling,
            read: 0,
            since: now,
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Notes that the application has read `bytes`. Returns whether to call `grow`.
    pub fn read(&mut self, bytes: usize) -> bool {
        self.read += bytes as u64;
        self.size < self.ceiling && self.read > self.size / 2
    }

    /// Returns the new size, if it changes. A window that is used up within two round trips is too small (as in QUIC of
    /// Chromium and quic-go).
    pub fn grow(&mut self, now: Instant, rtt: Duration) -> Option<u64> {
        let elapsed = now.saturating_duration_since(self.since).as_secs_f64();
        let windows = self.read as f64 / self.size as f64;
        (self.read, self.since) = (0, now);
        if elapsed >= 2.0 * windows * rtt.as_secs_f64() {
            return None;
        }
        self.size = (self.size * 2).min(self.ceiling);
        Some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    /// Reads `bytes` after `elapsed`.
    fn read(window: &mut ReceiveWindow, now: &mut Instant, bytes: usize, elapsed: Duration) -> Option<u64> {
        *now += elapsed;
        if window.read(bytes) {
            window.grow(*now, RTT)
        } else {
            None
        }
    }

    #[test]
    fn a_window_that_is_used_up_within_two_round_trips_doubles_up_to_its_ceiling() {
        let mut now = Instant::now();
        let mut window = ReceiveWindow::new(1000, 3000, now);
        assert_eq!(read(&mut window, &mut now, 500, Duration::ZERO), None);
        assert_eq!(read(&mut window, &mut now, 500, RTT), Some(2000));
        assert_eq!(read(&mut window, &mut now, 2000, RTT), Some(3000));
        assert_eq!(read(&mut window, &mut now, 3000, RTT), None);
        assert_eq!(window.size(), 3000);
    }

    #[test]
    fn one_that_lasts_longer_stays() {
        let mut now = Instant::now();
        let mut window = ReceiveWindow::new(1000, 8000, now);
        assert_eq!(read(&mut window, &mut now, 1000, 2 * RTT), None);
        assert_eq!(read(&mut window, &mut now, 600, 2 * RTT), None);
        // The pause before does not count.
        assert_eq!(read(&mut window, &mut now, 600, 100 * RTT), None);
        assert_eq!(read(&mut window, &mut now, 600, RTT), Some(2000));
    }
}
