//! The loop driver's one-shot timer.
//!
//! On Linux it is a timerfd. libuv passes its nearest timer to every `epoll_wait` as a timeout, and the kernel sets and
//! cancels a hardware timer for each that is nearer than its tick; on a virtual machine both leave the guest. With an
//! acknowledgement due in a millisecond that made a sequential call cost a quarter more CPU. A timerfd is set once, and
//! fires where a call comes too late to matter.

#[cfg(target_os = "linux")]
pub use self::timerfd::Alarm;
#[cfg(not(target_os = "linux"))]
pub use self::uv_timer::Alarm;

#[cfg(target_os = "linux")]
mod timerfd {
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };

    use crate::ffi::uv::{Loop, Poll};

    pub struct Alarm {
        /// Dropped before the descriptor it watches.
        _poll: Poll,
        fd: OwnedFd,
    }

    impl Alarm {
        pub fn open(uv_loop: &Loop) -> Option<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            let _poll = uv_loop.poll_alarm(&fd)?;
            Some(Alarm { _poll, fd })
        }

        /// Replaces the time set before.
        pub fn set(&self, wait: Duration) {
            // Zero would stop the timer.
            let wait = wait.max(Duration::from_nanos(1));
            let time = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: wait.as_secs() as _,
                    tv_nsec: wait.subsec_nanos() as _,
                },
            };
            let _ = timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &time);
        }

        /// To be called after it fired: it is readable until then.
        pub fn clear(&self) {
            let _ = rustix::io::read(&self.fd, &mut [0; 8]);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod uv_timer {
    use std::time::Duration;

    use crate::ffi::uv::{Handle, Loop};

    pub struct Alarm(Handle);

    impl Alarm {
        pub fn open(uv_loop: &Loop) -> Option<Self> {
            uv_loop.timer().map(Alarm)
        }

        /// Replaces the time set before.
        pub fn set(&self, wait: Duration) {
            // Rounded up: a timer that fires early would only be set again.
            self.0.set_timer(wait.as_micros().div_ceil(1000) as u64);
        }

        pub fn clear(&self) {}
    }
}
