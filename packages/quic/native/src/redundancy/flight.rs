//! Flights of data, which end: calls and their answers, not steady streams.

use std::time::Instant;

use super::Path;

/// Beyond, a flight is bulk.
pub const MOST_BYTES: usize = 256 * 1452;

/// Data between two pauses of half a round trip.
#[derive(Debug, Default)]
pub struct Flight {
    began: Option<Instant>,
    last: Option<Instant>,
    bytes: usize,
    /// Of the one before: how large this one becomes is known too late.
    bytes_before: usize,
    /// `Path::data` after it.
    data: u64,
}

impl Flight {
    /// Counts a transmit. Returns whether it is of a flight that is sent within a round trip and leaves half of the window:
    /// not acknowledgements alone, not of a steady stream, not of bulk.
    pub fn takes(&mut self, now: Instant, bytes: usize, path: &Path) -> bool {
        if path.data == std::mem::replace(&mut self.data, path.data) {
            return false;
        }
        if self.last.is_none_or(|last| now >= last + path.rtt / 2) {
            self.began = Some(now);
            self.bytes_before = std::mem::take(&mut self.bytes);
        }
        self.last = Some(now);
        self.bytes += bytes;
        let bytes = self.bytes.max(self.bytes_before);
        self.began.is_some_and(|began| now < began + path.rtt) && bytes <= MOST_BYTES && bytes as u64 * 2 <= path.window
    }
}
