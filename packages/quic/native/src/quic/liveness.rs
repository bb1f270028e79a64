//! Detects whether the peer of a dialled session still responds. QUIC itself probes only while a sent packet is
//! unacknowledged; a call that waits for its answer has nothing in flight, and a peer that was killed sends nothing.

use std::time::{Duration, Instant};

use crate::quic::config::Remote;

/// Round trips without a packet before the application is asked whether it waits for one.
const ROUND_TRIPS: u32 = 3;
/// Maximum interval between unanswered PINGs.
const MOST_UNANSWERED: Duration = Duration::from_secs(1);

/// Interval between two PINGs: the minimum, and the maximum while they are answered.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: Duration,
    most: Duration,
}

#[derive(Debug)]
pub struct Liveness {
    bounds: Bounds,
    /// Time of the last packet from the peer.
    heard: Instant,
    /// Time of the first send since the application was asked.
    sent: Option<Instant>,
    /// Doubles with each PING that is answered.
    wait: Duration,
    /// Number of PINGs since the last packet from the peer.
    unanswered: u32,
    /// Whether the last PING has not been sent yet.
    probes: bool,
    /// Whether the application has answered that it waits for nothing, and the peer has sent nothing since.
    idle: bool,
    /// Whether the application has written since that answer.
    wrote: bool,
    /// Number of times that packets were handed to the network since that answer, including copies.
    transmits: u32,
}

impl Liveness {
    pub fn new(now: Instant, remote: Remote, idle_timeout: Duration) -> Self {
        let (least, most) = match remote {
            Remote::ThisMachine => (100, 1000),
            Remote::Elsewhere => (250, 7500),
        };
        let least = Duration::from_millis(least);
        let most = Duration::from_millis(most);
        let bounds = Bounds {
            least,
            most: if idle_timeout.is_zero() {
                most
            } else {
                most.min(idle_timeout / 4)
            },
        };
        Liveness {
            bounds,
            heard: now,
            sent: None,
            wait: least,
            unanswered: 0,
            probes: false,
            idle: false,
            wrote: false,
            transmits: 0,
        }
    }

    pub fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.unanswered = 0;
        // Data sent since then may have been processed.
        self.idle &= self.transmits == 0;
    }

    pub fn sent(&mut self, now: Instant) {
        self.sent.get_or_insert(now);
        self.transmits = self.transmits.saturating_add(1);
    }

    /// Called when the application writes: an answer is soon expected.
    pub fn wrote(&mut self) {
        self.wait = self.bounds.least;
        self.wrote = true;
    }

    /// Called when the application answers that it waits for nothing.
    pub fn idle(&mut self) {
        self.idle = self.unanswered == 0;
        self.wrote = false;
        self.transmits = 0;
    }

    /// Whether a stateless reset shows that nothing was processed that the application wrote since it waited for
    /// nothing. If packets were sent more than once, the reset may answer the later ones: another process of the server
    /// sends it after the process that handled the first packets has ended.
    pub fn reset_while_idle(&self) -> bool {
        self.idle && self.transmits == 1
    }

    /// Whether nothing was sent that the application wrote since it waited for nothing.
    pub fn unsent_while_idle(&self) -> bool {
        self.idle && self.wrote && self.transmits == 0
    }

    /// Time at which the application is asked.
    pub fn deadline(&self, rtt: Duration) -> Option<Instant> {
        let wait = if self.unanswered == 0 {
            self.wait
        } else {
            let doubled = self.bounds.least * (1 << self.unanswered.min(8));
            doubled.min(MOST_UNANSWERED)
        };
        self.sent.map(|sent| sent.max(self.heard) + wait.max(rtt * ROUND_TRIPS))
    }

    /// Notes that the application is asked now; not again before something is sent. Returns the number of unanswered
    /// PINGs.
    pub fn ask(&mut self) -> u32 {
        self.sent = None;
        self.unanswered
    }

    /// Whether nothing was sent since the application was asked.
    pub fn is_asked(&self) -> bool {
        self.sent.is_none()
    }

    pub fn is_unanswered(&self) -> bool {
        self.unanswered > 0
    }

    /// Called when the application waits for the peer and a PING is about to leave.
    pub fn ping(&mut self, now: Instant) {
        self.idle = false;
        self.sent = Some(now);
        if self.unanswered == 0 {
            self.wait = (self.wait * 2).min(self.bounds.most);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.probes = true;
    }

    /// Returns once whether the next packet must leave even if the congestion window is full (RFC 9002 §7.5).
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Returns the milliseconds between PINGs, answered or not, while a call waits.
    fn pings(remote: Remote, idle: Duration, answered: bool, count: usize) -> Vec<u128> {
        let mut now = Instant::now();
        let mut liveness = Liveness::new(now, remote, idle);
        liveness.sent(now);
        let mut waits = Vec::new();
        for _ in 0..count {
            let due = liveness.deadline(MS).unwrap();
            waits.push((due - now).as_millis());
            now = due;
            liveness.ask();
            assert_eq!(liveness.deadline(MS), None);
            assert!(liveness.is_asked());
            liveness.ping(now);
            assert!(!liveness.is_asked());
            if answered {
                liveness.heard(now);
            }
        }
        waits
    }

    #[test]
    fn a_peer_that_answers_is_asked_less_and_less_and_one_that_does_not_every_second() {
        let idle = Duration::from_secs(30);
        let here = pings(Remote::ThisMachine, idle, true, 6);
        assert_eq!(here, [100, 200, 400, 800, 1000, 1000]);
        let far = pings(Remote::Elsewhere, idle, true, 7);
        assert_eq!(far, [250, 500, 1000, 2000, 4000, 7500, 7500]);
        assert_eq!(pings(Remote::Elsewhere, 4000 * MS, true, 4), [250, 500, 1000, 1000]);
        assert_eq!(pings(Remote::Elsewhere, idle, false, 5), [250, 500, 1000, 1000, 1000]);
    }

    #[test]
    fn nothing_is_asked_before_something_is_sent_and_some_round_trips_have_passed() {
        let now = Instant::now();
        let mut liveness = Liveness::new(now, Remote::Elsewhere, Duration::ZERO);
        assert_eq!(liveness.deadline(MS), None);
        liveness.sent(now);
        assert_eq!(liveness.deadline(200 * MS), Some(now + 600 * MS));
        liveness.heard(now + 50 * MS);
        assert_eq!(liveness.deadline(MS), Some(now + 300 * MS));
        assert_eq!(liveness.ask(), 0);
    }

    #[test]
    fn a_reset_that_answers_the_only_packets_after_idle_time_shows_that_none_was_processed() {
        let now = Instant::now();
        let idle = |at: &[u64]| {
            let mut liveness = Liveness::new(now, Remote::Elsewhere, Duration::ZERO);
            liveness.sent(now);
            liveness.ask();
            liveness.idle();
            liveness.wrote();
            for &ms in at {
                liveness.sent(now + Duration::from_millis(ms));
            }
            liveness
        };
        assert!(idle(&[30_000]).reset_while_idle());
        // A process that answered the first may have ended since, or the second is a copy of it.
        assert!(!idle(&[30_000, 30_001]).reset_while_idle());
        assert!(!idle(&[30_000, 30_000]).reset_while_idle());
        // The peer has acknowledged something.
        let mut heard = idle(&[30_000]);
        heard.heard(now + Duration::from_secs(31));
        assert!(!heard.reset_while_idle());
        // A call waits.
        let mut waits = idle(&[]);
        waits.ping(now);
        waits.sent(now);
        assert!(!waits.reset_while_idle());
        assert!(idle(&[]).unsent_while_idle());
        assert!(!idle(&[30_000]).unsent_while_idle());
    }

    #[test]
    fn what_is_written_shortens_the_wait_again() {
        let now = Instant::now();
        let mut liveness = Liveness::new(now, Remote::Elsewhere, Duration::ZERO);
        for _ in 0..5 {
            liveness.ping(now);
            liveness.heard(now);
        }
        liveness.sent(now);
        assert_eq!(liveness.deadline(MS), Some(now + 7500 * MS));
        liveness.wrote();
        assert_eq!(liveness.deadline(MS), Some(now + 250 * MS));
    }
}
