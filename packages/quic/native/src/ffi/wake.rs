//! A thread that wakes JavaScript through a threadsafe function.

use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::thread::JoinHandle;

use napi::sys;

use super::env::Env;
use crate::bridge::reactor::Reactor;

/// Callback that runs on the JavaScript thread, with the flags of the wake-up.
pub type Woken = fn(&Rc<Reactor>, usize);

pub struct WakingThread {
    env: Env,
    function: sys::napi_threadsafe_function,
    thread: JoinHandle<()>,
}

/// The threadsafe function, as held by the thread.
pub struct Wake(sys::napi_threadsafe_function);

// SAFETY: a threadsafe function may be called from any thread until it is released; `join` waits for the thread first.
unsafe impl Send for Wake {}

struct Context {
    reactor: Rc<Reactor>,
    woken: Woken,
}

impl WakingThread {
    /// Starts the thread. It does not keep the process alive until `set_ref`.
    pub fn start(
        env: Env,
        reactor: &Rc<Reactor>,
        run: impl FnOnce(&Wake) + Send + 'static,
        woken: Woken,
    ) -> io::Result<Self> {
        let (mut name, mut function) = (ptr::null_mut(), ptr::null_mut());
        let context = Box::into_raw(Box::new(Context {
            reactor: reactor.clone(),
            woken,
        }));
        // SAFETY: `Env`'s promise. The function owns the context, which `finalize` frees; without one it is freed here.
        unsafe {
            sys::napi_create_string_utf8(env.0, c"quicrpc".as_ptr(), 7, &mut name);
            let status = sys::napi_create_threadsafe_function(
                env.0,
                ptr::null_mut(),
                ptr::null_mut(),
                name,
                0,
                1,
                context.cast(),
                Some(finalize),
                context.cast(),
                Some(on_wake),
                &mut function,
            );
            if status != sys::Status::napi_ok {
                drop(Box::from_raw(context));
                return Err(io::Error::other("napi_create_threadsafe_function failed"));
            }
            sys::napi_unref_threadsafe_function(env.0, function);
        }
        let wake = Wake(function);
        let thread = std::thread::Builder::new()
            .name("quicrpc-readiness".to_owned())
            .spawn(move || run(&wake));
        match thread {
            Ok(thread) => Ok(WakingThread { env, function, thread }),
            Err(error) => {
                release(function);
                Err(error)
            }
        }
    }

    /// Sets whether it keeps the process alive.
    pub fn set_ref(&self, wanted: bool) {
        // SAFETY: on the JavaScript thread, before release.
        unsafe {
            if wanted {
                sys::napi_ref_threadsafe_function(self.env.0, self.function);
            } else {
                sys::napi_unref_threadsafe_function(self.env.0, self.function);
            }
        }
    }

    /// Waits for the thread, whose loop must already have been asked to end. Pending wake-ups are dropped.
    pub fn join(self) {
        let _ = self.thread.join();
        release(self.function);
    }
}

impl Wake {
    /// Passes flags as the data pointer, so nothing is allocated and nothing leaks when the queue is dropped. Returns
    /// false after the function was released.
    pub fn call(&self, flags: usize) -> bool {
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

fn release(function: sys::napi_threadsafe_function) {
    // SAFETY: released once, by `join` or a `start` that fails; the thread that used it is over, or never was.
    unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::abort) };
}

unsafe extern "C" fn on_wake(env: sys::napi_env, _function: sys::napi_value, context: *mut c_void, data: *mut c_void) {
    // The queue is emptied without an environment at teardown.
    if env.is_null() {
        return;
    }
    // SAFETY: the context of `start`, which lives until `finalize`.
    let context = unsafe { &*context.cast::<Context>() };
    // The function may be released meanwhile.
    let (reactor, woken) = (context.reactor.clone(), context.woken);
    if catch_unwind(AssertUnwindSafe(|| woken(&reactor, data.addr()))).is_err() {
        reactor.break_down();
    }
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the pointer made by Box::into_raw in `start`, given back once.
    drop(unsafe { Box::from_raw(data.cast::<Context>()) });
}
