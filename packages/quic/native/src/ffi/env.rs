//! The environment of a JavaScript thread.

use std::ptr;

use napi::sys;

/// Proof of being on the thread of a living environment. It is made in a call from JavaScript and, being a pointer,
/// never leaves the thread. `Reactor`, which keeps one, learns from its `CleanupHook` that the environment ends, and
/// then no longer uses it.
#[derive(Clone, Copy)]
pub struct Env(pub(super) sys::napi_env);

impl Env {
    /// # Safety
    /// `raw` is running a call on this thread; see also above.
    pub(super) unsafe fn new(raw: sys::napi_env) -> Self {
        Env(raw)
    }

    /// Runs `body` inside a handle scope.
    pub fn scoped<T>(self, body: impl FnOnce() -> T) -> T {
        let mut scope = ptr::null_mut();
        // SAFETY: `Env`'s promise.
        unsafe { sys::napi_open_handle_scope(self.0, &mut scope) };
        let result = body();
        // SAFETY: the scope opened above; scopes are closed in order.
        unsafe { sys::napi_close_handle_scope(self.0, scope) };
        result
    }
}
