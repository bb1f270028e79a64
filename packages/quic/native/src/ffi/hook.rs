//! The end of the environment: a worker that terminates, or a process that exits.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use super::env::Env;
use crate::bridge::reactor::Reactor;

/// Runs `Reactor::tear_down` when the environment ends. Holds one reference to the reactor until it is removed or has
/// run.
pub enum CleanupHook {
    /// For drivers that close at once. Deno only supports this kind: it frees an asynchronous hook as soon as the hook
    /// has run.
    Immediate(Env),
    /// For drivers whose handles close later: without it libuv aborts on those that are still open in a worker's loop.
    Deferred(sys::napi_async_cleanup_hook_handle),
}

impl CleanupHook {
    pub fn add(env: Env, reactor: &Rc<Reactor>, closes_at_once: bool) -> Option<Self> {
        let data = Rc::into_raw(reactor.clone()).cast_mut().cast::<c_void>();
        let mut handle = ptr::null_mut();
        // SAFETY: `Env`'s promise; without a hook the count is dropped here.
        unsafe {
            let (status, hook) = if closes_at_once {
                let status = sys::napi_add_env_cleanup_hook(env.0, Some(run_immediate), data);
                (status, CleanupHook::Immediate(env))
            } else {
                let status = sys::napi_add_async_cleanup_hook(env.0, Some(run_deferred), data, &mut handle);
                (status, CleanupHook::Deferred(handle))
            };
            if status == sys::Status::napi_ok {
                return Some(hook);
            }
            drop(Rc::from_raw(data.cast::<Reactor>()));
        }
        None
    }

    /// Called after the endpoint has closed. While the environment ends, a deferred hook lets the end continue; an
    /// immediate one needs nothing.
    pub fn remove(self, reactor: &Rc<Reactor>, ending: bool) {
        let data = Rc::as_ptr(reactor);
        // SAFETY: a hook is removed once, and the count taken in `add` is dropped once; `reactor` still holds another.
        unsafe {
            match self {
                CleanupHook::Immediate(env) if !ending => {
                    sys::napi_remove_env_cleanup_hook(env.0, Some(run_immediate), data.cast_mut().cast());
                }
                CleanupHook::Immediate(_) => {}
                CleanupHook::Deferred(handle) => {
                    sys::napi_remove_async_cleanup_hook(handle);
                }
            }
            Rc::decrement_strong_count(data);
        }
    }
}

unsafe extern "C" fn run_immediate(data: *mut c_void) {
    // SAFETY: the pointer of `add`, whose count is held until `remove`.
    unsafe { run(data) };
}

unsafe extern "C" fn run_deferred(_handle: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    // SAFETY: as above.
    unsafe { run(data) };
}

/// # Safety
/// `data` is the pointer of `CleanupHook::add`, and the hook has not been removed.
unsafe fn run(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let reactor = unsafe {
        Rc::increment_strong_count(data.cast::<Reactor>());
        Rc::from_raw(data.cast::<Reactor>())
    };
    let _ = catch_unwind(AssertUnwindSafe(|| reactor.tear_down()));
}
