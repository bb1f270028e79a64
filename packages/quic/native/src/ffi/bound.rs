//! Native functions bound to one reactor: raw Node-API callbacks, because `write` and `openStream` run once per RPC.

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use super::args::{Args, to_js};
use super::env::Env;
use crate::bridge::handle::{Handle, Table};
use crate::bridge::reactor::Reactor;
use crate::bridge::return_value::ReturnValue;

pub type Method = fn(&Rc<Reactor>, &Args) -> ReturnValue;

#[derive(Clone)]
struct Bound {
    reactor: Rc<Reactor>,
    method: Method,
}

thread_local! {
    /// Each function's data is a handle into this table, not a pointer: `deno test` runs all finalizers after its tests
    /// and then continues to run JavaScript. The table is not dropped with the thread, since that happens after the end
    /// of the environments that it belongs to.
    static FUNCTIONS: ManuallyDrop<RefCell<Table<Bound>>> = ManuallyDrop::new(RefCell::default());
}

const _: () = assert!(usize::BITS >= 53, "a handle must fit into a pointer");

fn data_of(handle: Handle) -> *mut c_void {
    ptr::without_provenance_mut(handle.pack() as usize)
}

fn handle_of(data: *mut c_void) -> Handle {
    Handle::unpack(data.addr() as f64)
}

/// Methods by their names in JavaScript.
pub type Methods = &'static [(&'static str, Method)];

/// Makes an object with one function per method. Each function keeps the reactor alive.
pub(super) fn object(env: Env, reactor: &Rc<Reactor>, methods: &[Methods]) -> sys::napi_value {
    let env = env.0;
    let mut object = ptr::null_mut();
    // SAFETY: `Env`'s promise. Each `Bound` is owned by its function and removed by that function's finalizer.
    unsafe {
        sys::napi_create_object(env, &mut object);
        for &(name, method) in methods.iter().copied().flatten() {
            let reactor = reactor.clone();
            let bound = FUNCTIONS.with(|functions| functions.borrow_mut().insert(Bound { reactor, method }));
            let Some(data) = bound.map(data_of) else { continue };
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
    // SAFETY: Node-API calls this with the environment and call info it made the function for.
    let (env, args, data) = unsafe {
        let env = Env::new(env);
        let (args, data) = Args::read(env, info);
        (env, args, data)
    };
    let bound = FUNCTIONS.with(|functions| functions.borrow().get(handle_of(data)).cloned());
    let Some(Bound { reactor, method }) = bound else {
        return to_js(env, &ReturnValue::Undefined);
    };
    let value = catch_unwind(AssertUnwindSafe(|| method(&reactor, &args)));
    let value = value.unwrap_or_else(|_| {
        reactor.break_down();
        ReturnValue::Undefined
    });
    to_js(env, &value)
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    let bound = FUNCTIONS.with(|functions| functions.borrow_mut().remove(handle_of(data)));
    // Dropped here, since the reactor may be dropped with it.
    drop(bound);
}
