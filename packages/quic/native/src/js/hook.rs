//! The end of the environment: a worker that terminates, or a process that exits. Without the asynchronous hook, libuv
//! aborts on handles that are still open in a worker's loop.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use crate::host::Host;

pub struct CleanupHook(sys::napi_async_cleanup_hook_handle);

impl CleanupHook {
    /// # Safety
    /// `env` is running a call. The hook holds one count of `host`, given back when it runs or is removed.
    pub unsafe fn add(env: sys::napi_env, host: &Rc<Host>) -> Option<Self> {
        let mut handle = ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            let data = Rc::into_raw(host.clone()).cast_mut().cast::<c_void>();
            let status = sys::napi_add_async_cleanup_hook(env, Some(run), data, &mut handle);
            if status != sys::Status::napi_ok {
                drop(Rc::from_raw(data.cast::<Host>()));
                return None;
            }
        }
        Some(CleanupHook(handle))
    }

    /// Lets the environment go on; gives the hook's count of the host back.
    pub fn remove(self, host: &Rc<Host>) {
        // SAFETY: the handle is removed once, and the count taken in `add` is dropped once; `host` still holds another.
        unsafe {
            sys::napi_remove_async_cleanup_hook(self.0);
            Rc::decrement_strong_count(Rc::as_ptr(host));
        }
    }
}

unsafe extern "C" fn run(_handle: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    // SAFETY: the pointer of `add`, whose count is held until `remove`.
    let host = unsafe {
        Rc::increment_strong_count(data.cast::<Host>());
        Rc::from_raw(data.cast::<Host>())
    };
    let _ = catch_unwind(AssertUnwindSafe(|| host.tear_down()));
}
