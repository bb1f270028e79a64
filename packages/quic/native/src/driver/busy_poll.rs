//! When to ask for datagrams again and again instead of sleeping until there are some.
//!
//! Going to sleep and being woken takes some microseconds, and on a virtual machine tens of them: more than the peer takes
//! for its answer. So while answers come sooner to a loop that stays awake, it does.

use std::time::{Duration, Instant};

use crate::ffi::preemptions::preemptions;

/// So long the loop stays awake for an answer. What is slower is not worth it.
const WINDOW: Duration = Duration::from_micros(50);
/// It is half as long as a wait with a sleep takes, up to this: on a machine that is slow to wake threads the peer's own work takes longer too.
const LONGEST_WINDOW: Duration = Duration::from_micros(100);
/// A wait that took at most this long with a sleep may take less than `window` without one. Most of it may be two threads that are woken, this one
/// and the peer's, and on a virtual machine each of them takes up to a tenth of a millisecond or more.
const SHORT_SLEEP: Duration = Duration::from_micros(400);
/// Short sleeps before a try, which tell what there is to gain.
const FEWEST_SLEEPS: u32 = 8;
/// Short sleeps between two tries, where they fail: a failure in so many waits costs nothing that is felt.
const MOST_SLEEPS: u32 = 1024;
/// The first waits of a stretch, in which the loop stays awake for as long as a wait with a sleep takes: the peer still sleeps, and finds this side
/// awake when it tries.
const BEGINNING: u32 = 16;
/// Waits awake until the next `FEWEST_SLEEPS`, since what there is to gain may have changed.
const LONGEST_STRETCH: u32 = 4096;
/// Time gained, in nanoseconds: what a try begins with, less than what the first failure costs, and what is kept at most.
const FIRST_CREDIT: i64 = WINDOW.as_nanos() as i64;
const MOST_CREDIT: i64 = 16 * FIRST_CREDIT;
/// After so many waits awake it is seen whether others want the core: whether this thread had to leave it in half of them.
const PROBE_EVERY: u32 = 8;
/// The part of the median of short sleeps that one of them moves it by.
const STEPS: u32 = 8;

/// Decides for one endpoint whether its loop polls instead of sleeping.
#[derive(Debug)]
pub struct BusyPoll {
    enabled: bool,
    /// Something was sent then, and nothing has come since.
    waiting_since: Option<Instant>,
    awake: bool,
    /// Time gained by staying awake, less what was lost, in nanoseconds. It ends when that is used up.
    credit: i64,
    /// Median duration of the latest waits that slept.
    asleep: Option<Duration>,
    /// Short sleeps until the next try.
    sleeps_left: u32,
    /// Doubled whenever the credit is used up.
    sleeps_next: u32,
    /// Waits until the end of this stretch.
    stretch_left: u32,
    /// How often the thread had to leave its core, as of the last look in this stretch.
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

    /// The loop is about to wait; whether something was sent since it last was. Returns whether it is to stay awake.
    pub fn before_wait(&mut self, sent: bool) -> bool {
        // The clock is read only where it matters.
        if self.enabled && (sent || self.awake) {
            self.before_wait_at(sent, Instant::now(), preemptions);
        }
        self.awake
    }

    /// Datagrams have come.
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

    /// So long the loop stays awake in this wait.
    fn window(&self) -> Duration {
        let asleep = self.asleep.unwrap_or(WINDOW);
        let most = if self.begins() {
            asleep
        } else {
            LONGEST_WINDOW.min(asleep / 2)
        };
        WINDOW.max(most)
    }

    /// Whether this wait is one of the first of a stretch.
    fn begins(&self) -> bool {
        self.stretch_left > LONGEST_STRETCH - BEGINNING
    }

    /// Where the peer runs on the same core, each of its answers is one for which this thread had to leave.
    fn probe(&mut self, preempted: u64) {
        let before = self.preempted.replace(preempted).unwrap_or(preempted);
        if preempted - before >= u64::from(PROBE_EVERY) / 2 {
            self.give_up();
        }
    }

    /// The end of a wait awake, with what it gained.
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

    /// A peer that answers after so many microseconds, and whom a sleep delays by so many, one way or the other.
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

        /// Returns whether the loop was awake at first.
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

        /// In how many of so many waits the loop was awake.
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

    /// Two that answer each other in 10 µs, and are woken in so many: how many of 1,000 waits each was awake in.
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
        // The waits that a try begins with are long enough, those after them are not.
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
