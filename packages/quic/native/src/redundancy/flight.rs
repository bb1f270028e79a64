//! Flights of data, which end: calls and their answers, not steady streams.

use std::time::{Duration, Instant};

use super::Path;

/// Beyond, a flight is bulk.
pub const MOST_BYTES: usize = 256 * 1452;

/// The part of the largest flight that each one after it takes off: repairs and their answers are small flights between
/// large ones.
const FORGOTTEN: usize = 8;

/// For how long a window that shrank forbids copies: the path was full, perhaps of these.
const FULL: Duration = Duration::from_secs(30);

/// Data between two pauses of half a round trip.
#[derive(Debug, Default)]
pub struct Flight {
    began: Option<Instant>,
    last: Option<Instant>,
    bytes: usize,
    /// The largest of the earlier flights: how large this one becomes is known too late.
    largest: usize,
    /// `Path::data` after it, and `Path::window`.
    data: u64,
    window: u64,
    full_until: Option<Instant>,
}

impl Flight {
    /// Counts a transmit. Returns whether it is of a flight that is sent within a round trip and leaves half of the window:
    /// not acknowledgements alone, not of a steady stream, not of bulk.
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
