//! The loop driver's one-shot timer. On Linux it is a timerfd. libuv passes its nearest timer to every `epoll_wait` as
//! a timeout, and for each timeout shorter than its tick the kernel sets and cancels a hardware timer, which on a
//! virtual machine exits to the hypervisor. With an acknowledgement due in a millisecond a sequential call used a
//! quarter more CPU. A timerfd is set only once; firing when it is no longer needed is harmless.

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
        /// Declared first so that it is dropped before the descriptor it watches.
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

        /// Sets the time; replaces an earlier one.
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

        /// Must be called after the timer has fired: its descriptor stays readable until then.
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

        /// Sets the time; replaces an earlier one.
        pub fn set(&self, wait: Duration) {
            // Rounded up: a timer that fires early would only be set again.
            self.0.set_timer(wait.as_micros().div_ceil(1000) as u64);
        }

        pub fn clear(&self) {}
    }
}
