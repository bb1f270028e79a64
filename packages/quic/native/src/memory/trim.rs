//! Returns memory after sessions have ended. glibc keeps free memory below any that is in use: a process whose sessions
//! ended with much unread data otherwise stays at its maximum size.

use std::time::{Duration, Instant};

use crate::ffi::memory;

/// Minimum time from a session's end until memory is returned; it covers all sessions that end in the meantime.
const LEAST_WAIT: Duration = Duration::from_millis(250);
/// Maximum interval of attempts while there is little to return: an attempt takes a millisecond.
const MOST_WAIT: Duration = Duration::from_secs(4);
/// An attempt was worthwhile if it returned at least this many bytes.
const WORTH: u64 = 16 << 20;

pub struct MemoryTrim {
    returns: bool,
    due: Option<Instant>,
    wait: Duration,
}

impl MemoryTrim {
    /// Does nothing unless it `returns` memory: that concerns the whole process.
    pub fn new(returns: bool) -> Self {
        MemoryTrim {
            returns,
            due: None,
            wait: LEAST_WAIT,
        }
    }

    /// Notes that a session has been forgotten.
    pub fn schedule(&mut self, now: Instant) {
        if self.returns {
            self.due.get_or_insert(now + self.wait);
        }
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns memory if that is due.
    pub fn run(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        let before = memory::resident();
        memory::give_back();
        self.wait = if before >= memory::resident() + WORTH {
            LEAST_WAIT
        } else {
            (self.wait * 2).min(MOST_WAIT)
        };
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn free_memory_below_what_is_in_use_goes_back_to_the_system_after_sessions_end() {
        let mut now = Instant::now();
        let mut memory_trim = MemoryTrim::new(true);
        // Written to, so that it is in memory; each too small to be a mapping of its own.
        let mut pieces: Vec<Vec<u8>> = (0..4096).map(|_| vec![1; 64 << 10]).collect();
        let most = memory::resident();
        let top = pieces.pop();
        drop(pieces);
        memory_trim.run(now + MOST_WAIT);
        assert!(memory::resident() > most - (128 << 20), "no session has ended");
        memory_trim.schedule(now);
        memory_trim.schedule(now + LEAST_WAIT / 2);
        assert_eq!(memory_trim.due(), Some(now + LEAST_WAIT));
        memory_trim.run(now + LEAST_WAIT);
        assert_eq!(memory_trim.due(), None);
        assert!(memory::resident() < most - (192 << 20));
        drop(top);

        for _ in 0..10 {
            memory_trim.schedule(now);
            now = memory_trim.due().unwrap();
            memory_trim.run(now);
        }
        memory_trim.schedule(now);
        assert_eq!(memory_trim.due(), Some(now + MOST_WAIT));
    }

    #[test]
    fn nothing_is_returned_unless_asked_for() {
        let mut memory_trim = MemoryTrim::new(false);
        memory_trim.schedule(Instant::now());
        assert_eq!(memory_trim.due(), None);
    }
}
