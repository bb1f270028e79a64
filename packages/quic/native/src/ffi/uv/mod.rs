//! Handles in Node's own libuv loop, each closed when it is dropped.

mod functions;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use self::functions::{Raw, UV_IDLE, UV_POLL, UV_PREPARE, Uv, allocate, uv};
pub use self::functions::{UV_READABLE, UV_WRITABLE};
use super::env::Env;
use crate::bridge::reactor::Reactor;

/// Context that the `data` of every libuv handle points to. Each open handle holds one reference.
struct Context {
    env: Env,
    reactor: Rc<Reactor>,
    /// Whether to notify the reactor when the last handle has closed.
    closing: Cell<bool>,
}

/// The loop of one environment, for the handles of one reactor.
pub struct Loop {
    uv: &'static Uv,
    raw: *mut c_void,
    context: Rc<Context>,
}

/// An open handle. It does not keep the loop alive until `set_ref`.
pub struct Handle {
    uv: &'static Uv,
    raw: Raw,
}

/// While it is started, the loop polls without waiting.
pub struct Idle(Handle);

/// Watches a descriptor.
pub struct Poll {
    handle: Handle,
    callback: extern "C" fn(Raw, c_int, c_int),
}

impl Loop {
    /// Returns None if this runtime has no usable libuv.
    pub fn of(env: Env, reactor: &Rc<Reactor>) -> Option<Self> {
        let uv = uv()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `Env`'s promise. The loop belongs to the same thread and outlives its handles.
        let status = unsafe { sys::napi_get_uv_event_loop(env.0, &mut raw) };
        (status == sys::Status::napi_ok).then(|| Loop {
            uv,
            raw: raw.cast(),
            context: Rc::new(Context {
                env,
                reactor: reactor.clone(),
                closing: Cell::new(false),
            }),
        })
    }

    fn open(&self, kind: c_int, initialise: impl FnOnce(Raw) -> c_int) -> Option<Handle> {
        let raw = allocate(self.uv, kind)?;
        // SAFETY: memory of this handle type's size, freed here only when libuv has not taken it. From here on it is
        // freed, as is the context's count, in its close callback.
        unsafe {
            if initialise(raw) != 0 {
                libc::free(raw.cast());
                return None;
            }
            (self.uv.handle_set_data)(raw, Rc::into_raw(self.context.clone()).cast_mut().cast());
            (self.uv.unreference)(raw);
        }
        Some(Handle { uv: self.uv, raw })
    }

    fn poll(&self, socket: &impl AsFd, callback: extern "C" fn(Raw, c_int, c_int)) -> Option<Poll> {
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: a new handle of its type's size.
        let handle = self.open(UV_POLL, |raw| unsafe { (self.uv.poll_init)(self.raw, raw, fd) })?;
        let poll = Poll { handle, callback };
        poll.watch(UV_READABLE);
        Some(poll)
    }

    /// Watches a socket and runs `Reactor::on_ready`. The socket must stay open until the handle is dropped.
    pub fn poll_socket(&self, socket: &impl AsFd) -> Option<Poll> {
        self.poll(socket, on_socket)
    }

    /// Runs `Reactor::on_timer` when a timer's descriptor is readable. It must stay open until the handle is dropped.
    #[cfg(target_os = "linux")]
    pub fn poll_alarm(&self, timer: &impl AsFd) -> Option<Poll> {
        self.poll(timer, on_alarm)
    }

    /// Makes an unset timer that runs `Reactor::on_timer`.
    #[cfg(not(target_os = "linux"))]
    pub fn timer(&self) -> Option<Handle> {
        // SAFETY: a new handle of its type's size.
        self.open(functions::UV_TIMER, |raw| unsafe {
            (self.uv.timer_init)(self.raw, raw)
        })
    }

    /// Runs `Reactor::on_prepare` whenever the loop is about to wait.
    pub fn prepare(&self) -> Option<Handle> {
        // SAFETY: a new handle of its type's size, started when it is initialised.
        self.open(UV_PREPARE, |raw| unsafe {
            (self.uv.prepare_init)(self.raw, raw);
            (self.uv.prepare_start)(raw, on_prepare)
        })
    }

    pub fn idle(&self) -> Option<Idle> {
        // SAFETY: a new handle of its type's size.
        let handle = self.open(UV_IDLE, |raw| unsafe { (self.uv.idle_init)(self.raw, raw) })?;
        Some(Idle(handle))
    }

    /// Called before the handles are dropped: `Reactor::on_closed` follows when the last one has closed.
    pub fn closing(&self) {
        self.context.closing.set(true);
    }
}

impl Handle {
    /// Sets whether it keeps the loop alive.
    pub fn set_ref(&self, wanted: bool) {
        // SAFETY: an open handle.
        unsafe {
            if wanted {
                (self.uv.reference)(self.raw);
            } else {
                (self.uv.unreference)(self.raw);
            }
        }
    }

    /// Sets the timer; replaces an earlier time.
    #[cfg(not(target_os = "linux"))]
    pub fn set_timer(&self, ms: u64) {
        // SAFETY: an open handle; one of another type answers with an error.
        unsafe { (self.uv.timer_start)(self.raw, on_timer, ms, 0) };
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: an open handle, closed once.
        unsafe { (self.uv.close)(self.raw, on_close) };
    }
}

impl Idle {
    pub fn start(&self) {
        // SAFETY: an open idle handle.
        unsafe { (self.0.uv.idle_start)(self.0.raw, on_idle) };
    }

    pub fn stop(&self) {
        // SAFETY: an open idle handle.
        unsafe { (self.0.uv.idle_stop)(self.0.raw) };
    }
}

impl Poll {
    /// Begins to report these events.
    pub fn watch(&self, events: c_int) {
        // SAFETY: an open poll handle; starting again replaces the events.
        unsafe { (self.handle.uv.poll_start)(self.handle.raw, events, self.callback) };
    }

    pub fn set_ref(&self, wanted: bool) {
        self.handle.set_ref(wanted);
    }
}

impl Context {
    /// Runs `act` inside a handle scope; a panic shuts the endpoint down.
    fn enter(&self, act: impl FnOnce(&Rc<Reactor>)) {
        self.env.scoped(|| {
            if catch_unwind(AssertUnwindSafe(|| act(&self.reactor))).is_err() {
                self.reactor.break_down();
            }
        });
    }
}

fn enter(handle: Raw, act: impl FnOnce(&Rc<Reactor>)) {
    let Some(uv) = uv() else { return };
    // SAFETY: libuv calls back on the loop's thread, with an open handle, whose data holds a count of its context.
    let context = unsafe {
        let data = (uv.handle_get_data)(handle).cast::<Context>();
        Rc::increment_strong_count(data);
        Rc::from_raw(data)
    };
    context.enter(act);
}

extern "C" fn on_socket(handle: Raw, status: c_int, events: c_int) {
    enter(handle, |reactor| {
        // An error condition of the socket stops the handle; receiving takes the error away.
        reactor.on_ready(status < 0 || events & UV_WRITABLE != 0, true);
        if status < 0 {
            reactor.repair();
        }
    });
}

#[cfg(target_os = "linux")]
extern "C" fn on_alarm(handle: Raw, _status: c_int, _events: c_int) {
    enter(handle, |reactor| reactor.on_timer(true));
}

#[cfg(not(target_os = "linux"))]
extern "C" fn on_timer(handle: Raw) {
    enter(handle, |reactor| reactor.on_timer(true));
}

extern "C" fn on_prepare(handle: Raw) {
    enter(handle, |reactor| reactor.on_prepare());
}

extern "C" fn on_idle(_handle: Raw) {}

extern "C" fn on_close(handle: Raw) {
    let Some(uv) = uv() else { return };
    // SAFETY: as in `enter`; the handle's count is given back here. Afterwards libuv no longer touches the handle.
    let context = unsafe {
        let context = Rc::from_raw((uv.handle_get_data)(handle).cast::<Context>());
        libc::free(handle.cast());
        context
    };
    if let Some(last) = Rc::into_inner(context)
        && last.closing.get()
    {
        last.enter(|reactor| reactor.on_closed(true));
    }
}
