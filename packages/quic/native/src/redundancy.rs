//! Small flights sent twice: where packets get lost, a copy a moment later costs less than waiting for a repair, which
//! takes a round trip and more (RFC 9002 §6). The receiver drops whichever comes second (RFC 9000 §12.3).

use std::time::{Duration, Instant};

use quinn_proto as qp;

/// Losses come in bursts: a copy right behind its original would share its fate.
pub const COPY_DELAY: Duration = Duration::from_millis(2);
/// On shorter paths a repair is about as fast as a copy.
const LEAST_RTT: Duration = Duration::from_millis(4);
/// What a round trip may send and still count as small: far below the smallest useful window, and never bulk.
const MOST_DATAGRAMS: usize = 8;
const MOST_BYTES: usize = 8 * 1452;
/// How long one loss makes copies worth their while.
const MEMORY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    Off,
    /// While packets were lost of late.
    AfterLoss,
    Always,
}

/// What one connection sends in a round trip, and whether packets got lost.
#[derive(Debug)]
pub struct Flights {
    mode: Redundancy,
    /// The round trip under way, and what was sent in it.
    until: Option<Instant>,
    datagrams: usize,
    bytes: usize,
    long_enough: bool,
    lost: u64,
    lossy_until: Option<Instant>,
    pub copies: u64,
}

impl Flights {
    pub fn new(mode: Redundancy) -> Self {
        Flights {
            mode,
            until: None,
            datagrams: 0,
            bytes: 0,
            long_enough: false,
            lost: 0,
            lossy_until: None,
            copies: 0,
        }
    }

    /// Counts a transmit of a live connection. Returns whether a copy of it should follow.
    pub fn wants_copy(&mut self, now: Instant, transmit: &qp::Transmit, connection: &qp::Connection) -> bool {
        if self.mode == Redundancy::Off {
            return false;
        }
        if self.until.is_none_or(|until| until <= now) {
            let path = connection.stats().path;
            self.begin_round(now, path.rtt, path.lost_packets);
        }
        self.count(now, transmit.size, transmit.segment_size)
    }

    fn begin_round(&mut self, now: Instant, rtt: Duration, lost: u64) {
        self.until = Some(now + rtt);
        self.long_enough = rtt >= LEAST_RTT;
        self.datagrams = 0;
        self.bytes = 0;
        if lost > self.lost {
            self.lost = lost;
            self.lossy_until = Some(now + MEMORY);
        }
    }

    fn count(&mut self, now: Instant, bytes: usize, segment: Option<usize>) -> bool {
        let datagrams = segment.map_or(1, |segment| bytes.div_ceil(segment));
        self.datagrams += datagrams;
        self.bytes += bytes;
        let lossy = self.mode == Redundancy::Always || self.lossy_until.is_some_and(|until| now < until);
        let small = self.datagrams <= MOST_DATAGRAMS && self.bytes <= MOST_BYTES;
        let copy = lossy && small && self.long_enough;
        if copy {
            self.copies += datagrams as u64;
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(16);

    #[test]
    fn nothing_is_copied_until_a_packet_was_lost_and_again_nothing_long_after() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::AfterLoss);
        flights.begin_round(start, RTT, 0);
        assert!(!flights.count(start, 100, None));
        flights.begin_round(start + RTT, RTT, 1);
        assert!(flights.count(start + RTT, 100, None));
        flights.begin_round(start + RTT + MEMORY, RTT, 1);
        assert!(!flights.count(start + RTT + MEMORY, 100, None));
        assert_eq!(flights.copies, 1);
    }

    #[test]
    fn bulk_is_never_copied() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::Always);
        flights.begin_round(start, RTT, 0);
        assert!(flights.count(start, 3 * 1200, Some(1200)));
        assert!(!flights.count(start, 10 * 1200, Some(1200)));
        assert!(!flights.count(start, 100, None));
        flights.begin_round(start + RTT, RTT, 0);
        assert!(flights.count(start + RTT, 100, None));
        assert_eq!(flights.copies, 4);
    }

    #[test]
    fn a_path_on_which_repair_is_fast_has_no_copies() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::Always);
        flights.begin_round(start, Duration::from_millis(1), 5);
        assert!(!flights.count(start, 100, None));
    }
}
