//! Native functions bound to one host: raw Node-API callbacks, because `write` and `openStream` run once per RPC.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use super::args::{Args, to_js};
use super::env::Env;
use crate::answer::Answer;
use crate::host::Host;

pub type Method = fn(&Rc<Host>, &Args) -> Answer;

struct Bound {
    host: Rc<Host>,
    method: Method,
}

/// Methods by the names that JavaScript knows them by.
pub type Methods = &'static [(&'static str, Method)];

/// An object with one function per method. Each function keeps the host alive.
pub(super) fn object(env: Env, host: &Rc<Host>, methods: &[Methods]) -> sys::napi_value {
    let env = env.0;
    let mut object = ptr::null_mut();
    // SAFETY: `Env`'s promise. Each `Bound` is owned by its function and freed by that function's finalizer.
    unsafe {
        sys::napi_create_object(env, &mut object);
        for &(name, method) in methods.iter().copied().flatten() {
            let data = Box::into_raw(Box::new(Bound {
                host: host.clone(),
                method,
            }))
            .cast::<c_void>();
            let mut function = ptr::null_mut();
            sys::napi_create_function(
                env,
                name.as_ptr().cast(),
                name.len() as isize,
                Some(call),
                data,
                &mut function,
            );
            sys::napi_add_finalizer(env, function, data, Some(finalize), ptr::null_mut(), ptr::null_mut());
            let mut key = ptr::null_mut();
            sys::napi_create_string_utf8(env, name.as_ptr().cast(), name.len() as isize, &mut key);
            sys::napi_set_property(env, object, key, function);
        }
    }
    object
}

unsafe extern "C" fn call(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API calls this with the environment and call info it made the function for; the data pointer is the
    // `Bound` given at creation and lives as long as the function.
    let (env, args, bound) = unsafe {
        let env = Env::new(env);
        let (args, data) = Args::read(env, info);
        (env, args, &*data.cast::<Bound>())
    };
    let answer = catch_unwind(AssertUnwindSafe(|| (bound.method)(&bound.host, &args)));
    let answer = answer.unwrap_or_else(|_| {
        bound.host.break_down();
        Answer::Nothing
    });
    to_js(env, &answer)
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the pointer made by Box::into_raw in `object`, given back once.
    drop(unsafe { Box::from_raw(data.cast::<Bound>()) });
}
