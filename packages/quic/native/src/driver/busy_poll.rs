//! Decides when to poll for datagrams instead of sleeping until some arrive. Going to sleep and being woken takes some
//! microseconds, and tens of them on a virtual machine: more than the peer needs for its answer. The loop polls as long
//! as that makes answers arrive sooner.

use std::time::{Duration, Instant};

use crate::ffi::preemptions::preemptions;

/// How long the loop polls for one answer. Polling for slower answers is not worthwhile.
const WINDOW: Duration = Duration::from_micros(50);
/// Maximum of the adapted polling time, which is half the duration of a sleeping wait: on a machine that wakes threads
/// slowly the peer takes longer too.
const LONGEST_WINDOW: Duration = Duration::from_micros(100);
/// A sleeping wait of at most this duration may take less than `window` when polling. Most of it may be the waking of
/// two threads, this side's and the peer's; on a virtual machine each takes a tenth of a millisecond or more.
const SHORT_SLEEP: Duration = Duration::from_micros(400);
/// Number of short sleeps before a trial, which measure the possible gain.
const FEWEST_SLEEPS: u32 = 8;
/// Maximum number of short sleeps between two failing trials: one failure among this many waits is not noticeable.
const MOST_SLEEPS: u32 = 1024;
/// Number of first waits of a trial in which the loop polls as long as a sleeping wait takes: the peer still sleeps,
/// and finds this side awake when it tries.
const BEGINNING: u32 = 16;
/// Number of polling waits until the next `FEWEST_SLEEPS`, since the possible gain may have changed.
const LONGEST_STRETCH: u32 = 4096;
/// Nanoseconds of gained time with which a trial begins, less than the cost of a first failure; `MOST_CREDIT` is the
/// maximum that accumulates.
const FIRST_CREDIT: i64 = WINDOW.as_nanos() as i64;
const MOST_CREDIT: i64 = 16 * FIRST_CREDIT;
/// After this many polling waits the scheduler is checked: if the thread was preempted in half of them, other threads
/// need the core.
const PROBE_EVERY: u32 = 8;
/// One short sleep moves the median by this fraction.
const STEPS: u32 = 8;

/// Decides for one endpoint whether its loop polls instead of sleeping.
#[derive(Debug)]
pub struct BusyPoll {
    enabled: bool,
    /// Time of a send after which no datagram has arrived yet.
    waiting_since: Option<Instant>,
    awake: bool,
    /// Nanoseconds gained by polling, minus those lost. Polling ends when it is used up.
    credit: i64,
    /// Median duration of the latest sleeping waits.
    asleep: Option<Duration>,
    /// Short sleeps until the next trial.
    sleeps_left: u32,
    /// Doubled whenever the credit is used up.
    sleeps_next: u32,
    /// Waits left in this trial.
    stretch_left: u32,
    /// Preemption count of the thread at the last check in this trial.
    preempted: Option<u64>,
}

impl BusyPoll {
    pub fn new(enabled: bool) -> Self {
        BusyPoll {
            enabled,
            waiting_since: None,
            awake: false,
            credit: FIRST_CREDIT,
            asleep: None,
            sleeps_left: FEWEST_SLEEPS,
            sleeps_next: FEWEST_SLEEPS,
            stretch_left: LONGEST_STRETCH,
            preempted: None,
        }
    }

    /// Called before the loop waits; `sent` says whether something was sent since the last wait. Returns whether to
    /// poll.
    pub fn before_wait(&mut self, sent: bool) -> bool {
        // The clock is read only if it matters.
        if self.enabled && (sent || self.awake) {
            self.before_wait_at(sent, Instant::now(), preemptions);
        }
        self.awake
    }

    /// Called when datagrams have arrived.
    pub fn received(&mut self) {
        if self.waiting_since.is_some() {
            self.received_at(Instant::now());
        }
    }

    fn before_wait_at(&mut self, sent: bool, now: Instant, preemptions: impl FnOnce() -> u64) {
        if sent {
            self.waiting_since = Some(now);
            if self.sleeps_left == 0 && self.stretch_left.is_multiple_of(PROBE_EVERY) {
                self.probe(preemptions());
            }
            self.awake = self.sleeps_left == 0;
            return;
        }
        match self.waiting_since {
            Some(since) if now.saturating_duration_since(since) <= self.window() => {}
            Some(_) => {
                self.waiting_since = None;
                self.awake = false;
                self.settle(-nanos(self.window()));
            }
            None => self.awake = false,
        }
    }

    fn received_at(&mut self, now: Instant) {
        let Some(since) = self.waiting_since.take() else { return };
        let waited = now.saturating_duration_since(since);
        if self.awake {
            self.settle(nanos(self.asleep.unwrap_or(waited)) - nanos(waited));
        } else if waited <= SHORT_SLEEP {
            self.sleeps_left = self.sleeps_left.saturating_sub(1);
            let before = self.asleep.unwrap_or(waited);
            let step = before / STEPS;
            self.asleep = Some(if waited > before { before + step } else { before - step });
        }
    }

    /// How long the loop polls in this wait.
    fn window(&self) -> Duration {
        let asleep = self.asleep.unwrap_or(WINDOW);
        let most = if self.begins() {
            asleep
        } else {
            LONGEST_WINDOW.min(asleep / 2)
        };
        WINDOW.max(most)
    }

    /// Whether this is one of the first waits of a trial.
    fn begins(&self) -> bool {
        self.stretch_left > LONGEST_STRETCH - BEGINNING
    }

    /// Checks whether the thread was preempted. If the peer runs on the same core, each of its answers preempts this
    /// thread.
    fn probe(&mut self, preempted: u64) {
        let before = self.preempted.replace(preempted).unwrap_or(preempted);
        if preempted - before >= u64::from(PROBE_EVERY) / 2 {
            self.give_up();
        }
    }

    /// Ends a polling wait that gained `gain` nanoseconds.
    fn settle(&mut self, gain: i64) {
        self.credit = (self.credit + gain).min(MOST_CREDIT);
        let begins = self.begins();
        self.stretch_left -= 1;
        if self.credit <= 0 {
            self.give_up();
        } else if self.stretch_left == 0 {
            self.sleep(FEWEST_SLEEPS);
        }
        if self.credit == MOST_CREDIT && !begins {
            self.sleeps_next = FEWEST_SLEEPS;
        }
    }

    fn give_up(&mut self) {
        self.sleep(self.sleeps_next);
        self.sleeps_next = (self.sleeps_next * 2).min(MOST_SLEEPS);
        self.credit = FIRST_CREDIT;
    }

    fn sleep(&mut self, times: u32) {
        self.sleeps_left = times;
        self.stretch_left = LONGEST_STRETCH;
        self.preempted = None;
    }
}

fn nanos(duration: Duration) -> i64 {
    duration.as_nanos().try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);
    const IDLE: u32 = 1000;

    /// A simulated peer that answers after some microseconds, and that sleeping delays by some more on either side.
    struct Peer {
        poll: BusyPoll,
        now: Instant,
        delay: i32,
        /// Whether it runs on the same core.
        near: bool,
        preempted: u64,
    }

    impl Peer {
        fn new(delay: i32) -> Self {
            Peer {
                poll: BusyPoll::new(true),
                now: Instant::now(),
                delay,
                near: false,
                preempted: 0,
            }
        }

        /// Simulates one answer. Returns whether the loop was polling at first.
        fn answers(&mut self, micros: u32) -> bool {
            let sent = self.now;
            self.poll.before_wait_at(true, sent, || self.preempted);
            let awake = self.poll.awake;
            let end = sent
                + US * if awake {
                    micros
                } else {
                    micros.saturating_add_signed(self.delay)
                };
            while self.poll.awake && self.now + US < end {
                self.now += US;
                self.poll.before_wait_at(false, self.now, || unreachable!());
            }
            self.now = end;
            self.poll.received_at(end);
            self.preempted += u64::from(self.near);
            // As after a turn in which nothing is sent.
            if self.poll.awake {
                self.poll.before_wait_at(false, self.now, || unreachable!());
                assert!(!self.poll.awake);
            }
            awake
        }

        /// Returns in how many of `waits` waits the loop was polling.
        fn awake(&mut self, waits: u32, micros: impl Fn(u32) -> u32) -> u32 {
            (0..waits).map(|i| u32::from(self.answers(micros(i)))).sum()
        }
    }

    #[test]
    fn for_quick_answers_the_loop_stays_awake_after_the_first_few() {
        let mut peer = Peer::new(40);
        assert_eq!(peer.awake(FEWEST_SLEEPS, |_| 15), 0);
        assert_eq!(peer.awake(LONGEST_STRETCH, |_| 15), LONGEST_STRETCH);
        assert_eq!(peer.awake(FEWEST_SLEEPS, |_| 15), 0);
        assert_eq!(peer.awake(LONGEST_STRETCH, |_| 15), LONGEST_STRETCH);
    }

    /// Simulates two peers that answer each other in 10 µs and take `woken` to wake: in how many of 1,000 waits each
    /// was polling.
    fn both(woken: u32) -> [u32; 2] {
        let mut polls = [BusyPoll::new(true), BusyPoll::new(true)];
        let mut awake = [0, 0];
        let mut now = Instant::now();
        for turn in 0..2000 {
            polls[turn % 2].before_wait_at(true, now, || 0);
            now += US * 10;
            let other = &mut polls[(turn + 1) % 2];
            if other.awake {
                other.before_wait_at(false, now, || unreachable!());
            }
            awake[(turn + 1) % 2] += u32::from(other.awake);
            if !other.awake {
                now += US * woken;
            }
            other.received_at(now);
        }
        awake
    }

    #[test]
    fn two_that_wait_for_each_other_stay_awake_both() {
        for woken in [20, 60, 100, 180] {
            let awake = both(woken);
            assert!(awake.iter().all(|&waits| waits > 900), "{woken}: {awake:?}");
        }
    }

    #[test]
    fn for_slow_answers_it_sleeps() {
        assert_eq!(Peer::new(40).awake(10_000, |_| IDLE), 0);
    }

    #[test]
    fn for_answers_beyond_the_window_it_tries_ever_more_rarely() {
        // The first waits of a trial are long enough, later ones are not.
        assert!(Peer::new(40).awake(100_000, |_| 100) < 3_600);
        assert!(Peer::new(60).awake(100_000, |_| 300) < 3_600);
    }

    #[test]
    fn where_a_sleep_is_quicker_it_sleeps() {
        assert!(Peer::new(-10).awake(100_000, |_| 25) < 600);
    }

    #[test]
    fn where_the_core_is_shared_with_the_peer_it_sleeps() {
        let mut peer = Peer::new(5);
        peer.near = true;
        assert!(peer.awake(100_000, |_| 15) < 1000);
    }

    #[test]
    fn slow_answers_are_borne_with_while_the_others_gain_more() {
        let awake = |delay, every| Peer::new(delay).awake(100_000, |i| if i % every == 0 { IDLE } else { 15 });
        assert!(awake(40, 4) > 90_000, "{}", awake(40, 4));
        assert!(awake(10, 10) > 90_000, "{}", awake(10, 10));
        assert!(awake(10, 4) < 1000, "{}", awake(10, 4));
    }

    #[test]
    fn it_begins_again_when_answers_are_quick_again() {
        let mut peer = Peer::new(40);
        peer.awake(1000, |_| 15);
        peer.awake(100, |_| IDLE);
        assert!(peer.awake(1000, |_| 15) > 900);
    }

    #[test]
    fn where_it_is_turned_off_the_loop_always_sleeps() {
        let mut poll = BusyPoll::new(false);
        for _ in 0..100 {
            assert!(!poll.before_wait(true));
            poll.received();
        }
    }
}
