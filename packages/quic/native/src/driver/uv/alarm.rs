//! The loop driver's one-shot timer.
//!
//! On Linux it is a timerfd. libuv passes its nearest timer to every `epoll_wait` as a timeout, and the kernel sets and
//! cancels a hardware timer for each that is nearer than its tick; on a virtual machine both leave the guest. With an
//! acknowledgement due in a millisecond that made a sequential call cost a quarter more CPU. A timerfd is set once, and
//! fires where a call comes too late to matter.

use std::ffi::c_void;
use std::time::Duration;

use super::enter;
use super::functions::{Raw, Uv, allocate};

#[cfg(target_os = "linux")]
pub struct Alarm {
    poll: Raw,
    fd: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// # Safety
    /// `raw_loop` belongs to this thread; the handle is to be closed before the loop is.
    pub unsafe fn open(uv: &'static Uv, raw_loop: *mut c_void) -> Option<Self> {
        use std::os::fd::AsRawFd;

        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

        use super::functions::{UV_POLL, UV_READABLE};

        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
        let poll = allocate(uv, UV_POLL)?;
        // SAFETY: a new handle of its type's size, and a descriptor that stays open until after `uv_close`.
        unsafe {
            if (uv.poll_init)(raw_loop, poll, fd.as_raw_fd()) != 0 {
                libc::free(poll.cast());
                return None;
            }
            (uv.poll_start)(poll, UV_READABLE, on_poll);
        }
        Some(Alarm { poll, fd })
    }

    pub fn handle(&self) -> Raw {
        self.poll
    }

    /// Replaces the time set before.
    pub fn set(&self, wait: Duration) {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

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

#[cfg(target_os = "linux")]
extern "C" fn on_poll(handle: Raw, _status: std::ffi::c_int, _events: std::ffi::c_int) {
    enter(handle, |host| host.on_timer(true));
}

#[cfg(not(target_os = "linux"))]
pub struct Alarm {
    uv: &'static Uv,
    timer: Raw,
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// # Safety
    /// `raw_loop` belongs to this thread; the handle is to be closed before the loop is.
    pub unsafe fn open(uv: &'static Uv, raw_loop: *mut c_void) -> Option<Self> {
        let timer = allocate(uv, super::functions::UV_TIMER)?;
        // SAFETY: a new handle of its type's size.
        unsafe { (uv.timer_init)(raw_loop, timer) };
        Some(Alarm { uv, timer })
    }

    pub fn handle(&self) -> Raw {
        self.timer
    }

    /// Replaces the time set before.
    pub fn set(&self, wait: Duration) {
        // Rounded up: a timer that fires early would only be set again.
        let ms = wait.as_micros().div_ceil(1000) as u64;
        // SAFETY: an open timer handle.
        unsafe { (self.uv.timer_start)(self.timer, on_timer, ms, 0) };
    }

    pub fn clear(&self) {}
}

#[cfg(not(target_os = "linux"))]
extern "C" fn on_timer(handle: Raw) {
    enter(handle, |host| host.on_timer(true));
}
