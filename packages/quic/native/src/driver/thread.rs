//! The thread driver: a thread waits for the socket and the timer and wakes JavaScript through a threadsafe function.
//! It reads and writes nothing itself; the engine stays on the JavaScript thread.

use std::ffi::c_void;
use std::net::UdpSocket;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use napi::sys;
use polling::{Event, Events, Poller};

use super::Readiness;
use crate::error::Failure;
use crate::host::Host;
use crate::socket::Socket;

const SOCKET: usize = 1;
const READABLE: usize = 1;
const WRITABLE: usize = 2;
const TIMER: usize = 4;

/// What both threads see.
struct Shared {
    poller: Poller,
    /// A duplicate of the endpoint's socket: `polling` must be able to borrow it from either thread.
    socket: Mutex<UdpSocket>,
    deadline: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

pub struct ThreadDriver {
    shared: Arc<Shared>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
    armed: Option<Instant>,
    writable: bool,
    env: sys::napi_env,
}

#[derive(Clone, Copy)]
struct Wake(sys::napi_threadsafe_function);

// SAFETY: a threadsafe function may be called from any thread until it is released; `close` joins the thread first.
unsafe impl Send for Wake {}

impl Wake {
    /// Flags travel as the data pointer, so nothing is allocated and nothing leaks when the queue is dropped.
    fn call(self, flags: usize) -> bool {
        // SAFETY: see `Send`.
        let status = unsafe {
            sys::napi_call_threadsafe_function(
                self.0,
                ptr::without_provenance_mut(flags),
                sys::ThreadsafeFunctionCallMode::nonblocking,
            )
        };
        status == sys::Status::napi_ok
    }
}

impl ThreadDriver {
    /// # Safety
    /// `env` is running a call on this thread.
    pub unsafe fn start(env: sys::napi_env, host: &Rc<Host>) -> Result<Self, Failure> {
        let doing = "start the readiness thread";
        let failed = |error: std::io::Error| Failure::system(&error, doing);
        let socket = host
            .with_socket(|socket| socket.io().try_clone())
            .ok_or_else(Failure::endpoint_closed)?
            .map_err(failed)?;
        let shared = Arc::new(Shared {
            poller: Poller::new().map_err(failed)?,
            socket: Mutex::new(socket),
            deadline: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let (mut name, mut wake) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's promise. The context pointer owns one count of the host, dropped by `finalize`.
        unsafe {
            sys::napi_create_string_utf8(env, c"quicrpc".as_ptr(), 7, &mut name);
            let context = Rc::into_raw(host.clone()).cast_mut().cast::<c_void>();
            let status = sys::napi_create_threadsafe_function(
                env,
                ptr::null_mut(),
                ptr::null_mut(),
                name,
                0,
                1,
                context,
                Some(finalize),
                context,
                Some(on_wake),
                &mut wake,
            );
            if status != sys::Status::napi_ok {
                drop(Rc::from_raw(context.cast::<Host>()));
                return Err(Failure::system(
                    &std::io::Error::other("napi_create_threadsafe_function failed"),
                    doing,
                ));
            }
            sys::napi_unref_threadsafe_function(env, wake);
        }
        let wake = Wake(wake);
        let mut driver = ThreadDriver {
            shared: shared.clone(),
            wake,
            thread: None,
            armed: None,
            writable: false,
            env,
        };
        // SAFETY: the duplicate lives in `shared` and is removed from the poller in `close` before it is dropped.
        let started = unsafe { shared.poller.add(&*lock(&shared.socket), Event::readable(SOCKET)) }.and_then(|()| {
            std::thread::Builder::new()
                .name("quicrpc-readiness".to_owned())
                .spawn(move || wait(&shared, wake))
        });
        match started {
            Ok(thread) => {
                driver.thread = Some(thread);
                Ok(driver)
            }
            Err(error) => {
                driver.close();
                Err(failed(error))
            }
        }
    }

    fn interest(&self) {
        let event = Event::new(SOCKET, true, self.writable);
        // One-shot: after each report the poller waits for this.
        let _ = self.shared.poller.modify(&*lock(&self.shared.socket), event);
    }
}

/// Nothing panics while it holds this lock, so a poisoned one is as good.
fn lock(socket: &Mutex<UdpSocket>) -> MutexGuard<'_, UdpSocket> {
    socket.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(shared: &Shared, wake: Wake) {
    const CAPACITY: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    let mut events = Events::with_capacity(CAPACITY);
    while !shared.stop.load(Ordering::Acquire) {
        let deadline = shared.deadline.lock().map_or(None, |deadline| *deadline);
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        events.clear();
        if shared.poller.wait(&mut events, timeout).is_err() {
            continue;
        }
        let mut flags = 0;
        for event in events.iter() {
            flags |= if event.readable { READABLE } else { 0 };
            flags |= if event.writable { WRITABLE } else { 0 };
        }
        if let Ok(mut deadline) = shared.deadline.lock()
            && deadline.is_some_and(|at| at <= Instant::now())
        {
            *deadline = None;
            flags |= TIMER;
        }
        if flags != 0 && !wake.call(flags) {
            return;
        }
    }
}

impl Readiness for ThreadDriver {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn closes_at_once(&self) -> bool {
        true
    }

    fn arm(&mut self, deadline: Instant) {
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        self.armed = Some(deadline);
        if let Ok(mut shared) = self.shared.deadline.lock() {
            *shared = Some(deadline);
        }
        let _ = self.shared.poller.notify();
    }

    fn disarmed(&mut self) {
        self.armed = None;
    }

    fn want_writable(&mut self, wanted: bool) {
        if self.writable != wanted {
            self.writable = wanted;
            self.interest();
        }
    }

    fn rearm(&mut self) {
        self.interest();
    }

    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::system(&error, "rebind");
        let next = socket.io().try_clone().map_err(failed)?;
        let mut current = lock(&self.shared.socket);
        // SAFETY: as in `start`; the socket so far leaves the poller before it is dropped.
        unsafe { self.shared.poller.add(&next, Event::readable(SOCKET)) }.map_err(failed)?;
        let _ = self.shared.poller.delete(&*current);
        *current = next;
        self.writable = false;
        Ok(())
    }

    fn set_ref(&mut self, wanted: bool) {
        // SAFETY: on the JavaScript thread, before release.
        unsafe {
            if wanted {
                sys::napi_ref_threadsafe_function(self.env, self.wake.0);
            } else {
                sys::napi_unref_threadsafe_function(self.env, self.wake.0);
            }
        }
    }

    fn close(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let _ = self.shared.poller.notify();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = self.shared.poller.delete(&*lock(&self.shared.socket));
        // SAFETY: released once; the thread that used it has been joined.
        unsafe {
            sys::napi_release_threadsafe_function(self.wake.0, sys::ThreadsafeFunctionReleaseMode::abort);
        }
    }
}

unsafe extern "C" fn on_wake(env: sys::napi_env, _function: sys::napi_value, context: *mut c_void, data: *mut c_void) {
    // The queue is emptied without an environment at teardown.
    if env.is_null() {
        return;
    }
    // SAFETY: the context of `start`, whose count is held until `finalize`.
    let host = unsafe {
        Rc::increment_strong_count(context.cast::<Host>());
        Rc::from_raw(context.cast::<Host>())
    };
    let flags = data.addr();
    let woken = catch_unwind(AssertUnwindSafe(|| {
        if flags & TIMER != 0 {
            host.on_timer(false);
        }
        if flags & (READABLE | WRITABLE) != 0 {
            host.on_ready(flags & WRITABLE != 0, false);
        }
    }));
    if woken.is_err() {
        host.break_down();
    }
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the count taken in `start`, dropped once.
    drop(unsafe { Rc::from_raw(data.cast::<Host>()) });
}
