//! The loop driver: the socket and the timer live in Node's own libuv loop.

mod alarm;
mod functions;

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::time::Instant;

use napi::sys;

use self::alarm::Alarm;
use self::functions::{Raw, UV_POLL, UV_PREPARE, UV_READABLE, UV_WRITABLE, Uv, allocate, uv};
use super::Readiness;
use crate::error::Failure;
use crate::host::Host;
use crate::js::page::scoped;
use crate::socket::Socket;

/// What every handle's data points to.
struct Context {
    host: Rc<Host>,
    env: sys::napi_env,
    open: usize,
}

pub struct UvDriver {
    uv: &'static Uv,
    raw_loop: *mut c_void,
    /// Lives until the last handle has closed, which `close` begins.
    context: *mut Context,
    referenced: bool,
    poll: Raw,
    alarm: Alarm,
    prepare: Raw,
    armed: Option<Instant>,
    writable: bool,
}

impl UvDriver {
    /// # Safety
    /// `env` is running a call on this thread.
    pub unsafe fn start(env: sys::napi_env, host: &Rc<Host>) -> Option<Self> {
        let uv = uv()?;
        let fd = host.with_socket(|socket| socket.io().as_raw_fd())?;
        let mut raw_loop = ptr::null_mut();
        // SAFETY: the loop belongs to this thread. Each handle is allocated at the size libuv asks for, initialised
        // once, and freed only in its close callback.
        unsafe {
            if sys::napi_get_uv_event_loop(env, &mut raw_loop) != sys::Status::napi_ok {
                return None;
            }
            let raw_loop = raw_loop.cast::<c_void>();
            let poll = allocate(uv, UV_POLL)?;
            if (uv.poll_init)(raw_loop, poll, fd) != 0 {
                libc::free(poll.cast());
                return None;
            }
            let (alarm, prepare) = (Alarm::open(uv, raw_loop)?, allocate(uv, UV_PREPARE)?);
            (uv.prepare_init)(raw_loop, prepare);
            let context = Box::into_raw(Box::new(Context {
                host: host.clone(),
                env,
                open: 3,
            }));
            for handle in [poll, alarm.handle(), prepare] {
                (uv.handle_set_data)(handle, context.cast());
                // Unreferenced until the endpoint listens or has sessions.
                (uv.unreference)(handle);
            }
            (uv.poll_start)(poll, UV_READABLE, on_poll);
            (uv.prepare_start)(prepare, on_prepare);
            Some(UvDriver {
                uv,
                raw_loop,
                context,
                referenced: false,
                poll,
                alarm,
                prepare,
                armed: None,
                writable: false,
            })
        }
    }
}

impl Readiness for UvDriver {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn closes_at_once(&self) -> bool {
        false
    }

    fn arm(&mut self, deadline: Instant) {
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        self.armed = Some(deadline);
        self.alarm.set(deadline.saturating_duration_since(Instant::now()));
    }

    fn disarmed(&mut self) {
        self.armed = None;
        self.alarm.clear();
    }

    fn want_writable(&mut self, wanted: bool) {
        if self.writable != wanted {
            self.writable = wanted;
            let events = UV_READABLE | if wanted { UV_WRITABLE } else { 0 };
            // SAFETY: an open poll handle; starting again replaces the events.
            unsafe { (self.uv.poll_start)(self.poll, events, on_poll) };
        }
    }

    fn rearm(&mut self) {}

    fn repair(&mut self) {
        let events = UV_READABLE | if self.writable { UV_WRITABLE } else { 0 };
        // SAFETY: as above.
        unsafe { (self.uv.poll_start)(self.poll, events, on_poll) };
    }

    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure> {
        let failed = || Failure::system(&std::io::Error::other("libuv does not take the socket"), "rebind");
        // SAFETY: as in `start`. The context counts one more handle until the old one has closed.
        unsafe {
            let poll = allocate(self.uv, UV_POLL).ok_or_else(failed)?;
            if (self.uv.poll_init)(self.raw_loop, poll, socket.io().as_raw_fd()) != 0 {
                libc::free(poll.cast());
                return Err(failed());
            }
            (*self.context).open += 1;
            (self.uv.handle_set_data)(poll, self.context.cast());
            (self.uv.close)(std::mem::replace(&mut self.poll, poll), on_close);
        }
        self.writable = false;
        self.set_ref(self.referenced);
        self.repair();
        Ok(())
    }

    fn set_ref(&mut self, wanted: bool) {
        self.referenced = wanted;
        // SAFETY: an open handle.
        unsafe {
            if wanted {
                (self.uv.reference)(self.poll);
            } else {
                (self.uv.unreference)(self.poll);
            }
        }
    }

    fn close(&mut self) {
        // SAFETY: open handles, closed once: the host drops this driver next. The poll handle keeps the loop alive
        // until its callback, so that a promise waiting for it settles.
        unsafe {
            (self.uv.reference)(self.poll);
            for handle in [self.poll, self.alarm.handle(), self.prepare] {
                (self.uv.close)(handle, on_close);
            }
        }
    }
}

/// Runs `act` on the handle's host inside a handle scope; a panic shuts the endpoint down.
fn enter(handle: Raw, act: impl FnOnce(&Rc<Host>)) {
    let Some(uv) = uv() else { return };
    // SAFETY: libuv calls back on the loop's thread with a handle whose data is the Context of `start`, which lives
    // until the last close callback.
    unsafe {
        let context = (uv.handle_get_data)(handle).cast::<Context>();
        let (host, env) = ((*context).host.clone(), (*context).env);
        scoped(env, || {
            if catch_unwind(AssertUnwindSafe(|| act(&host))).is_err() {
                host.break_down();
            }
        });
    }
}

extern "C" fn on_poll(handle: Raw, status: c_int, events: c_int) {
    enter(handle, |host| {
        // An error condition of the socket stops the handle; receiving takes the error away.
        host.on_ready(status < 0 || events & UV_WRITABLE != 0, true);
        if status < 0 {
            host.repair();
        }
    });
}

extern "C" fn on_prepare(handle: Raw) {
    enter(handle, |host| host.on_prepare());
}

extern "C" fn on_close(handle: Raw) {
    let Some(uv) = uv() else { return };
    // SAFETY: as in `enter`; after this callback libuv no longer touches the handle. The last one frees the context.
    unsafe {
        let context = (uv.handle_get_data)(handle).cast::<Context>();
        (*context).open -= 1;
        if (*context).open == 0 {
            enter(handle, |host| host.on_closed(true));
            drop(Box::from_raw(context));
        }
        libc::free(handle.cast());
    }
}
