//! The congestion window: CUBIC (RFC 9438), except that a loss without a queue is treated as random.

use std::time::{Duration, Instant};

use super::losses::Losses;
use super::queue::QueueSense;

/// The share of the window that is kept after congestion (RFC 9438 §4.6).
const BETA: f64 = 0.7;
/// How fast the window grows, in packets/s³ (RFC 9438 §5).
const C: f64 = 0.4;
/// Growth per window in the region where CUBIC would be slower than Reno (RFC 9438 §4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Upper bound of the window, which keeps the arithmetic far from overflow.
const GREATEST: f64 = 1024.0 * 1024.0 * 1024.0;

/// State of the window before it last shrank.
#[derive(Clone, Debug)]
struct Before {
    size: f64,
    threshold: f64,
    epoch: Option<Epoch>,
    last_plateau: f64,
}

/// Growth since the last congestion event.
#[derive(Clone, Debug)]
struct Epoch {
    began: Instant,
    /// The window that the curve returns to, and the seconds until then.
    plateau: f64,
    k: f64,
    /// The window that Reno would have by now, in bytes.
    reno: f64,
}

/// Sizes in bytes.
#[derive(Clone, Debug)]
pub struct Window {
    packet: f64,
    size: f64,
    /// Slow start ends at this window.
    threshold: f64,
    epoch: Option<Epoch>,
    /// The plateau of the previous epoch, for fast convergence (RFC 9438 §4.7).
    last_plateau: f64,
    /// Losses of packets sent before this belong to a congestion event that has already been handled.
    answered: Option<Instant>,
    before: Option<Box<Before>>,
    queue: QueueSense,
    losses: Losses,
    /// Send time of the newest packet, and bytes, of the acknowledgement being processed.
    newest: Option<Instant>,
    acknowledged: f64,
    /// The largest number of bytes in flight in this round trip and in the previous one.
    peaks: [f64; 2],
    peak_began: Option<Instant>,
}

impl Window {
    pub fn new(initial: u64, packet: u16) -> Self {
        Window {
            packet: packet.into(),
            size: initial as f64,
            threshold: f64::INFINITY,
            epoch: None,
            last_plateau: 0.0,
            answered: None,
            before: None,
            queue: QueueSense::default(),
            losses: Losses::default(),
            newest: None,
            acknowledged: 0.0,
            peaks: [0.0; 2],
            peak_began: None,
        }
    }

    pub fn size(&self) -> u64 {
        self.size as u64
    }

    pub fn threshold(&self) -> Option<u64> {
        self.threshold.is_finite().then_some(self.threshold as u64)
    }

    pub fn set_packet(&mut self, packet: u16) {
        self.packet = packet.into();
        self.size = self.size.max(self.least());
    }

    /// Handles one packet of an acknowledgement. Call `settle` after the last one.
    pub fn acknowledge(&mut self, sent: Instant, bytes: u64) {
        self.newest = self.newest.max(Some(sent));
        self.losses.acknowledged(bytes);
        // In recovery the window does not change (RFC 9002 §7.3.2).
        if self.answered.is_none_or(|answered| sent > answered) {
            self.acknowledged += bytes as f64;
        }
    }

    /// Ends an acknowledgement; `in_flight` is the number of bytes still in flight.
    pub fn settle(&mut self, now: Instant, in_flight: u64) {
        let bytes = std::mem::take(&mut self.acknowledged);
        let Some(newest) = self.newest.take() else {
            return;
        };
        self.queue.acknowledged(now, newest);
        self.note_peak(now, newest, in_flight as f64 + bytes);
        let peak = self.peaks[0].max(self.peaks[1]);
        if self.size < self.threshold {
            // Unused window proves nothing: a window beyond twice the peak does not grow (RFC 9002 §7.8).
            if peak * 2.0 >= self.size {
                // While a queue builds up, a quarter of the pace keeps the overshoot small (RFC 9406 §4.2).
                let pace = if self.queue.waiting() { 0.25 } else { 1.0 };
                self.size = (self.size + bytes * pace).min(self.threshold);
            }
        } else if peak + 2.0 * self.packet >= self.size {
            self.grow(now, bytes);
        }
        self.size = self.size.min(GREATEST);
    }

    /// Handles lost packets; the newest of them was sent at `sent`. `bytes` is 0 if the network marked packets (ECN).
    pub fn lose(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.losses.lost(bytes);
        if self.answered.is_some_and(|answered| sent <= answered) {
            return;
        }
        if bytes > 0 && !self.congested() {
            return;
        }
        if bytes > 0 {
            self.note_before();
        } else {
            // An ECN mark cannot be a mistake of loss detection (RFC 9002 §7.1).
            self.before = None;
        }
        self.answered = Some(now);
        let plateau = if self.size < self.last_plateau {
            self.size * (1.0 + BETA) / 2.0
        } else {
            self.size
        };
        self.last_plateau = plateau;
        self.size = (self.size * BETA).max(self.least());
        self.threshold = self.size;
        self.epoch = Some(Epoch {
            began: now,
            plateau,
            k: ((plateau - self.size).max(0.0) / self.packet / C).cbrt(),
            reno: self.size,
        });
    }

    /// Handles persistent congestion (RFC 9002 §7.6.2): the window falls to its minimum, and slow start begins again.
    pub fn collapse(&mut self, bytes: u64) {
        self.losses.lost(bytes);
        self.note_before();
        if !self.congested() {
            // The path was interrupted, which says nothing about its capacity.
            if self.threshold.is_finite() {
                self.threshold = self.threshold.max(self.size);
            }
        } else if self.size >= self.threshold || self.threshold.is_infinite() {
            self.threshold = (self.size * BETA).max(self.least());
        } // Else slow start was on its way back from a collapse, and goes where it went (RFC 5681 §3.1).
        self.size = self.least();
        self.epoch = None;
        self.last_plateau = 0.0;
        self.answered = None;
    }

    /// Handles packets that counted as lost but arrived late.
    pub fn forgive(&mut self, bytes: u64) {
        self.losses.forgive(bytes);
    }

    /// Keeps the last reduction: a packet was indeed lost.
    pub fn confirm(&mut self) {
        self.before = None;
    }

    /// Undoes the last reduction: all packets that counted as lost arrived late.
    pub fn restore(&mut self) {
        if let Some(before) = self.before.take()
            && before.size > self.size
        {
            self.size = before.size;
            self.threshold = before.threshold;
            self.epoch = before.epoch;
            self.last_plateau = before.last_plateau;
            self.answered = None;
        }
    }

    fn note_before(&mut self) {
        self.before = Some(Box::new(Before {
            size: self.size,
            threshold: self.threshold,
            epoch: self.epoch.clone(),
            last_plateau: self.last_plateau,
        }));
    }

    /// Whether losses at this moment mean that the path is full.
    fn congested(&self) -> bool {
        self.queue.waiting() || self.losses.excessive()
    }

    fn least(&self) -> f64 {
        2.0 * self.packet
    }

    fn grow(&mut self, now: Instant, bytes: f64) {
        let size = self.size;
        let packet = self.packet;
        // After a collapse slow start ends at a threshold without a curve: it begins at its plateau.
        let epoch = self.epoch.get_or_insert(Epoch {
            began: now,
            plateau: size,
            k: 0.0,
            reno: size,
        });
        let ahead = now.saturating_duration_since(epoch.began) + self.queue.recent();
        let cubic = C * (seconds(ahead) - epoch.k).powi(3) * packet + epoch.plateau;
        epoch.reno += ALPHA * packet * bytes / size;
        let target = cubic.max(epoch.reno).clamp(size, size * 1.5);
        self.size += (target - size) / size * bytes;
    }

    fn note_peak(&mut self, now: Instant, newest: Instant, in_flight: f64) {
        if self.peak_began.is_none_or(|began| newest >= began) {
            self.peak_began = Some(now);
            self.peaks = [0.0, self.peaks[0]];
        }
        self.peaks[0] = self.peaks[0].max(in_flight);
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1200;
    const RTT: Duration = Duration::from_millis(16);
    /// More lost bytes than random loss explains, after a few round trips.
    const MANY: u64 = 100 * PACKET;

    /// Sends `count` whole windows, each acknowledged after one round trip.
    fn rounds(window: &mut Window, from: Instant, count: u32) -> Instant {
        for round in 0..count {
            let bytes = window.size();
            window.acknowledge(from + RTT * round, bytes);
            window.settle(from + RTT * (round + 1), 0);
        }
        from + RTT * count
    }

    /// Simulates a queue that grows, and then a total loss.
    fn outage(window: &mut Window, from: Instant) -> Instant {
        for _ in 0..8 {
            window.acknowledge(from, PACKET);
            window.settle(from + RTT * 4, 0);
        }
        window.collapse(PACKET);
        assert_eq!(window.size(), 2 * PACKET);
        from + RTT * 10
    }

    #[test]
    fn a_window_that_collapsed_twice_comes_back_as_after_once() {
        let start = Instant::now();
        let mut window = Window::new(10 * PACKET, 1200);
        let now = rounds(&mut window, start, 5);
        let now = outage(&mut window, now);
        let threshold = window.threshold();
        assert!(threshold > Some(200 * PACKET));

        let now = rounds(&mut window, now, 2);
        let now = outage(&mut window, now);
        assert_eq!(window.threshold(), threshold);
        rounds(&mut window, now, 16);
        assert!(window.size() > 200 * PACKET, "{}", window.size());
    }

    #[test]
    fn an_outage_without_a_queue_says_nothing_of_where_slow_start_ends() {
        let start = Instant::now();
        let mut window = Window::new(10 * PACKET, 1200);
        let now = rounds(&mut window, start, 5);
        window.collapse(PACKET);
        assert_eq!(window.size(), 2 * PACKET);
        assert_eq!(window.threshold(), None);
        rounds(&mut window, now, 6);
        assert_eq!(window.size(), 128 * PACKET);
    }

    #[test]
    fn a_window_is_as_wide_as_before_when_the_lost_packets_were_only_late() {
        let start = Instant::now();
        let mut window = Window::new(10 * PACKET, 1200);
        let now = rounds(&mut window, start, 5);
        let (size, threshold) = (window.size(), window.threshold());
        let shrink: [fn(&mut Window, Instant); 2] = [
            |window, now| window.lose(now, now, MANY),
            |window, _| window.collapse(MANY),
        ];
        for shrink in shrink {
            shrink(&mut window, now);
            assert!(window.size() < size);
            window.restore();
            assert_eq!((window.size(), window.threshold()), (size, threshold));
        }
    }

    #[test]
    fn a_reduction_stays_after_a_mark_of_the_network_or_a_packet_that_was_lost_indeed() {
        let start = Instant::now();
        for bytes in [0, MANY] {
            let mut window = Window::new(10 * PACKET, 1200);
            let now = rounds(&mut window, start, 5);
            window.lose(now, now, MANY);
            if bytes == 0 {
                window.lose(now + RTT, now + RTT, 0);
            } else {
                window.confirm();
            }
            let reduced = window.size();
            window.restore();
            assert_eq!(window.size(), reduced);
        }
    }

    #[test]
    fn packets_that_were_late_do_not_excuse_those_that_were_lost() {
        let start = Instant::now();
        for (late, congested) in [(PACKET, true), (MANY, false)] {
            let mut window = Window::new(10 * PACKET, 1200);
            rounds(&mut window, start, 2);
            window.losses.lost(MANY);
            window.forgive(late);
            assert_eq!(window.congested(), congested);
        }
    }
}
