//! Sends flights twice: on a path that loses packets, a copy a moment later costs less than waiting for a repair, which
//! takes a round trip or more (RFC 9002 §6). Small flights are copied; on a path with much loss also larger ones, if
//! they follow a pause and the window has room for both. Repairs are copied too, since losing one costs as much again.
//! The receiver drops the later packet (RFC 9000 §12.3).

mod flight;
mod loss_share;

use std::time::{Duration, Instant};

use quinn_proto as qp;

use flight::Flight;
use loss_share::LossShare;

/// Losses come in bursts: a copy right behind its original would often be lost with it.
pub const COPY_DELAY: Duration = Duration::from_millis(2);
/// On shorter paths a repair is about as fast as a copy.
const LEAST_RTT: Duration = Duration::from_millis(4);
/// Maximum number of datagrams in a small round trip: far below the smallest useful window, and never bulk.
const MOST_DATAGRAMS: usize = 8;
const MOST_BYTES: usize = 8 * 1452;
/// Share of lost packets from which a flight of two hundred packets usually loses one.
const MUCH_LOSS: f64 = 0.005;
/// Datagrams sent twice for each lost one: its repair may be split in two, and the data that waited for it follows.
const COPIES_PER_LOSS: usize = 3;
/// Above this, repairs are bulk themselves.
const MOST_COPIES_OWED: usize = 64;
/// How long after a loss copies are worthwhile.
const MEMORY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    Off,
    /// Packets were lost recently.
    AfterLoss,
    Always,
}

/// A connection's path at the beginning of a flight.
#[derive(Clone, Copy)]
struct Path {
    rtt: Duration,
    /// Number of packets sent so far.
    sent: u64,
    lost: u64,
    /// Number of frames with stream data or application datagrams.
    data: u64,
    /// Congestion window, in bytes.
    window: u64,
}

/// Flights of one connection: the data sent in each round trip, and whether packets were lost.
#[derive(Debug)]
pub struct Flights {
    mode: Redundancy,
    /// End of the current round trip, and the data sent in it.
    until: Option<Instant>,
    datagrams: usize,
    bytes: usize,
    /// Bytes sent in the previous round trip.
    bytes_before: usize,
    long_enough: bool,
    lost: u64,
    lossy_until: Option<Instant>,
    loss_share: LossShare,
    flight: Flight,
    /// Number of next datagrams to copy: repairs, and those that follow one.
    owed: usize,
    pub copies: u64,
}

impl Flights {
    pub fn new(mode: Redundancy) -> Self {
        Flights {
            mode,
            until: None,
            datagrams: 0,
            bytes: 0,
            bytes_before: 0,
            long_enough: false,
            lost: 0,
            lossy_until: None,
            loss_share: LossShare::default(),
            flight: Flight::default(),
            owed: 0,
            copies: 0,
        }
    }

    /// Counts a transmit of a live connection. Returns whether a copy of it should follow.
    pub fn wants_copy(&mut self, now: Instant, transmit: &qp::Transmit, connection: &qp::Connection) -> bool {
        self.count(now, transmit.size, transmit.segment_size, || {
            let qp::ConnectionStats { path, frame_tx, .. } = connection.stats();
            Path {
                rtt: path.rtt,
                sent: path.sent_packets,
                lost: path.lost_packets,
                data: frame_tx.stream + frame_tx.datagram,
                window: path.cwnd,
            }
        })
    }

    /// `path` is called once a round trip while no packets are lost.
    fn count(&mut self, now: Instant, bytes: usize, segment: Option<usize>, path: impl Fn() -> Path) -> bool {
        if self.mode == Redundancy::Off {
            return false;
        }
        if self.until.is_none_or(|until| until <= now) {
            self.begin_round(now, path());
        }
        let datagrams = segment.map_or(1, |segment| bytes.div_ceil(segment));
        self.datagrams += datagrams;
        self.bytes += bytes;
        let lossy = self.mode == Redundancy::Always || self.lossy_until.is_some_and(|until| now < until);
        if !lossy || !self.long_enough {
            return false;
        }
        let path = path();
        self.note_losses(now, &path);
        let repair = datagrams <= self.owed;
        self.owed = self.owed.saturating_sub(datagrams);
        let of_flight = self.flight.takes(now, bytes, &path) && self.loss_share.get() >= MUCH_LOSS;
        // If the window is the limit, the data is bulk, and copies might fill a queue.
        let room = self.bytes.max(self.bytes_before) as u64 * 2 <= path.window;
        let small = self.datagrams <= MOST_DATAGRAMS && self.bytes <= MOST_BYTES;
        let copy = small || (repair && room) || of_flight;
        if copy {
            self.copies += datagrams as u64;
        }
        copy
    }

    fn begin_round(&mut self, now: Instant, path: Path) {
        self.until = Some(now + path.rtt);
        self.long_enough = path.rtt >= LEAST_RTT;
        self.datagrams = 0;
        self.bytes_before = std::mem::take(&mut self.bytes);
        self.note_losses(now, &path);
    }

    fn note_losses(&mut self, now: Instant, path: &Path) {
        self.loss_share.measure(path);
        if path.lost > self.lost {
            let copies = (path.lost - self.lost) as usize * COPIES_PER_LOSS;
            self.owed = (self.owed + copies).min(MOST_COPIES_OWED);
            self.lost = path.lost;
            self.lossy_until = Some(now + MEMORY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(16);

    fn path(lost: u64, window: u64) -> impl Fn() -> Path {
        move || Path {
            rtt: RTT,
            sent: 0,
            lost,
            data: 0,
            window,
        }
    }

    #[test]
    fn nothing_is_copied_until_a_packet_was_lost_and_again_nothing_long_after() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::AfterLoss);
        assert!(!flights.count(start, 100, None, path(0, 0)));
        assert!(flights.count(start + RTT, 100, None, path(1, 0)));
        assert!(!flights.count(start + RTT + MEMORY, 100, None, path(1, 0)));
        assert_eq!(flights.copies, 1);
    }

    #[test]
    fn bulk_is_never_copied() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::Always);
        assert!(flights.count(start, 3 * 1200, Some(1200), path(0, 0)));
        assert!(!flights.count(start, 10 * 1200, Some(1200), path(0, 0)));
        assert!(!flights.count(start, 100, None, path(0, 0)));
        assert!(flights.count(start + RTT, 100, None, path(0, 0)));
        assert_eq!(flights.copies, 4);
    }

    #[test]
    fn repairs_of_a_large_flight_are_copied_while_the_window_is_wide() {
        let start = Instant::now();
        let later = start + RTT / 2;
        let send = |window: u64| {
            let mut flights = Flights::new(Redundancy::AfterLoss);
            assert!(!flights.count(start, 100 * 1200, Some(1200), path(1, window)));
            let repair = flights.count(later, 3 * 1200, Some(1200), path(2, window));
            assert!(!flights.count(later, 1200, None, path(2, window)));
            repair
        };
        assert!(send(250 * 1200));
        assert!(!send(150 * 1200));
    }

    #[test]
    fn a_repair_in_the_round_trip_after_a_window_full_is_bulk_too() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::AfterLoss);
        flights.count(start, 100 * 1200, Some(1200), path(1, 150 * 1200));
        assert!(!flights.count(start + RTT, 9 * 1200, Some(1200), path(4, 150 * 1200)));
    }

    /// A path that lost a twentieth of a thousand packets, with a wide window.
    fn lossy(data: u64) -> Path {
        Path {
            sent: 1000,
            data,
            ..path(50, 1000 * 1200)()
        }
    }

    /// Returns which of some transmits of ten datagrams are sent twice; `at` has their times in milliseconds after the
    /// first.
    fn copied(at: impl IntoIterator<Item = u32>, path: impl Fn(u64) -> Path) -> Vec<bool> {
        let mut flights = Flights::new(Redundancy::AfterLoss);
        let long_ago = Instant::now();
        // More than the earlier losses require.
        flights.count(long_ago, 100 * 1200, Some(1200), || path(0));
        let start = long_ago + 10 * RTT;
        at.into_iter()
            .zip(1..)
            .map(|(ms, data)| {
                let now = start + Duration::from_millis(ms.into());
                flights.count(now, 10 * 1200, Some(1200), || path(data))
            })
            .collect()
    }

    #[test]
    fn a_flight_after_a_pause_is_copied_where_much_is_lost() {
        assert_eq!(copied([0, 3, 6, 9], lossy), [true; 4]);
        let little = |data| Path {
            sent: 20_000,
            ..lossy(data)
        };
        assert_eq!(copied([0, 3, 6, 9], little), [false; 4]);
    }

    #[test]
    fn of_a_steady_stream_only_the_first_round_trip_is_copied() {
        let copies = copied((0..60).step_by(4), lossy);
        let (first, rest) = copies.split_at(4);
        assert_eq!(first, [true; 4]);
        assert!(rest.iter().all(|copied| !copied));
        // Pauses of half a round trip, and of less.
        assert_eq!(
            copied([0, 8, 16, 24, 31, 38, 45], lossy),
            [true, true, true, true, true, true, false]
        );
    }

    #[test]
    fn acknowledgements_are_no_flight_and_do_not_fill_a_pause() {
        assert_eq!(copied([0, 1], |_| lossy(0)), [false; 2]);
        let data = |transmit| lossy(if transmit == 2 { 1 } else { transmit });
        assert_eq!(copied([0, 7, 14, 21, 28], data), [true, false, true, true, true]);
    }

    #[test]
    fn a_flight_is_copied_up_to_a_bound_and_to_half_of_the_window() {
        let copies = |path: fn(u64) -> Path| copied([0; 40], path).iter().filter(|copied| **copied).count();
        assert_eq!(copies(lossy), flight::MOST_BYTES / (10 * 1200));
        let narrow = |data| Path {
            window: 100 * 1200,
            ..lossy(data)
        };
        assert_eq!(copies(narrow), 5);
    }

    #[test]
    fn a_flight_that_needed_more_of_the_window_is_remembered_beyond_the_repairs_after_it() {
        let narrow = |data| Path {
            window: 100 * 1200,
            ..lossy(data)
        };
        let copies = copied([[0; 6], [20; 6]].concat(), narrow);
        assert_eq!(copies, [[true, true, true, true, true, false], [false; 6]].concat());
        // Small ones follow it.
        let copies = copied([0, 0, 0, 0, 0, 0, 20, 40, 60], narrow);
        assert_eq!(copies[6..], [false, false, true]);
    }

    #[test]
    fn a_window_that_shrank_forbids_copies_of_large_flights_for_a_while() {
        let shrinking = |transmit| Path {
            window: if transmit < 3 { 1000 } else { 700 } * 1200,
            lost: 50 + transmit,
            ..lossy(transmit)
        };
        let copies = copied([0, 20, 40, 60, 29_000, 31_000, 31_001], shrinking);
        assert_eq!(copies, [true, true, false, false, false, true, true]);
    }

    #[test]
    fn a_path_on_which_repair_is_fast_has_no_copies() {
        let start = Instant::now();
        let mut flights = Flights::new(Redundancy::Always);
        let short = || Path {
            rtt: Duration::from_millis(1),
            ..path(5, 1_000_000)()
        };
        assert!(!flights.count(start, 100, None, short));
    }
}
