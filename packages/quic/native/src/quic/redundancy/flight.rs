//! Detects flights: bursts of data that end, such as calls and their answers, unlike steady streams.

use std::time::{Duration, Instant};

use super::Path;

/// A larger flight counts as bulk.
pub const MOST_BYTES: usize = 256 * 1452;

/// Fraction of the largest flight that each later flight subtracts: small flights of repairs and their answers lie
/// between large ones.
const FORGOTTEN: usize = 8;

/// How long a shrunken window forbids copies: the path was full, perhaps because of them.
const FULL: Duration = Duration::from_secs(30);

/// Data between two pauses of half a round trip.
#[derive(Debug, Default)]
pub struct Flight {
    began: Option<Instant>,
    last: Option<Instant>,
    bytes: usize,
    /// The largest of the earlier flights: the size of the current one is known too late.
    largest: usize,
    /// `Path::data` after the flight, and `Path::window`.
    data: u64,
    window: u64,
    full_until: Option<Instant>,
}

impl Flight {
    /// Counts a transmit. Returns whether it belongs to a flight that is sent within a round trip and leaves half of
    /// the window free: not only acknowledgements, not a steady stream, not bulk.
    pub fn takes(&mut self, now: Instant, bytes: usize, path: &Path) -> bool {
        if path.window < std::mem::replace(&mut self.window, path.window) {
            self.full_until = Some(now + FULL);
        }
        if path.data == std::mem::replace(&mut self.data, path.data) {
            return false;
        }
        if self.last.is_none_or(|last| now >= last + path.rtt / 2) {
            self.began = Some(now);
            let before = self.largest - self.largest / FORGOTTEN;
            self.largest = before.max(std::mem::take(&mut self.bytes));
        }
        self.last = Some(now);
        self.bytes += bytes;
        if self.full_until.is_some_and(|until| now < until) {
            return false;
        }
        let bytes = self.bytes.max(self.largest);
        self.began.is_some_and(|began| now < began + path.rtt) && bytes <= MOST_BYTES && bytes as u64 * 2 <= path.window
    }
}
