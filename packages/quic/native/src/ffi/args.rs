//! Converts arguments and results of native functions from and to JavaScript values.

use std::ptr;

use napi::sys;

use super::env::Env;
use crate::bridge::return_value::ReturnValue;

pub const MAX_ARGS: usize = 7;

/// The arguments of one call, valid while it runs.
pub struct Args {
    env: Env,
    values: [sys::napi_value; MAX_ARGS],
}

impl Args {
    /// # Safety
    /// `info` belongs to the call that `env` is running. Missing arguments are `undefined` by Node-API's contract.
    pub(super) unsafe fn read(env: Env, info: sys::napi_callback_info) -> (Self, *mut std::ffi::c_void) {
        let mut values = [ptr::null_mut(); MAX_ARGS];
        let mut count = MAX_ARGS;
        let mut data = ptr::null_mut();
        // SAFETY: the caller's promise; `values` has room for `count` entries.
        unsafe {
            sys::napi_get_cb_info(env.0, info, &mut count, values.as_mut_ptr(), ptr::null_mut(), &mut data);
        }
        (Args { env, values }, data)
    }

    /// Returns NaN if the argument is not a number.
    pub fn number(&self, index: usize) -> f64 {
        let mut value = f64::NAN;
        // SAFETY: a value of the running call.
        unsafe { sys::napi_get_value_double(self.env.0, self.values[index], &mut value) };
        value
    }

    pub fn uint(&self, index: usize) -> u32 {
        let mut value = 0;
        // SAFETY: as above.
        unsafe { sys::napi_get_value_uint32(self.env.0, self.values[index], &mut value) };
        value
    }

    pub fn boolean(&self, index: usize) -> bool {
        let mut value = false;
        // SAFETY: as above.
        unsafe { sys::napi_get_value_bool(self.env.0, self.values[index], &mut value) };
        value
    }

    /// The bytes of a Uint8Array; empty for any other value. They do not move while no JavaScript runs.
    pub fn bytes(&self, index: usize) -> &[u8] {
        let (kind, length, data) = self.typed_array(index);
        if kind != sys::TypedarrayType::uint8_array || data.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: Node-API gave this memory and length; the borrow ends with the call, during which it is not freed.
        unsafe { std::slice::from_raw_parts(data.cast(), length) }
    }

    /// The numbers of a Float64Array.
    pub fn numbers(&self, index: usize) -> &[f64] {
        let (kind, length, data) = self.typed_array(index);
        if kind != sys::TypedarrayType::float64_array || data.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: as in `bytes`; V8 aligns the start of a Float64Array.
        unsafe { std::slice::from_raw_parts(data.cast(), length) }
    }

    fn typed_array(&self, index: usize) -> (sys::napi_typedarray_type, usize, *mut std::ffi::c_void) {
        let (mut kind, mut length, mut data) = (-1, 0, ptr::null_mut());
        // SAFETY: as above. On failure nothing is written and the kind stays invalid.
        unsafe {
            sys::napi_get_typedarray_info(
                self.env.0,
                self.values[index],
                &mut kind,
                &mut length,
                &mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            );
        }
        (kind, length, data)
    }

    pub fn text(&self, index: usize) -> String {
        let mut length = 0;
        let value = self.values[index];
        // SAFETY: first call asks for the length, the second fills a buffer with room for it and the final NUL.
        unsafe {
            if sys::napi_get_value_string_utf8(self.env.0, value, ptr::null_mut(), 0, &mut length)
                != sys::Status::napi_ok
            {
                return String::new();
            }
            let mut buffer = vec![0u8; length + 1];
            sys::napi_get_value_string_utf8(self.env.0, value, buffer.as_mut_ptr().cast(), buffer.len(), &mut length);
            buffer.truncate(length);
            String::from_utf8_lossy(&buffer).into_owned()
        }
    }
}

/// Makes a value that is valid for the current call, or for the open handle scope.
pub(super) fn to_js(env: Env, returned: &ReturnValue) -> sys::napi_value {
    let mut value = ptr::null_mut();
    // SAFETY: `Env`'s promise; a failed creation leaves null, which Node-API reads as undefined. Texts and bytes are copied.
    unsafe {
        match returned {
            ReturnValue::Undefined => {
                sys::napi_get_undefined(env.0, &mut value);
            }
            ReturnValue::Number(number) => {
                sys::napi_create_double(env.0, *number, &mut value);
            }
            ReturnValue::Text(text) => {
                sys::napi_create_string_utf8(env.0, text.as_ptr().cast(), text.len() as isize, &mut value);
            }
            ReturnValue::Bytes(bytes) => {
                let copy = ptr::null_mut();
                sys::napi_create_buffer_copy(env.0, bytes.len(), bytes.as_ptr().cast(), copy, &mut value);
            }
            ReturnValue::List(items) => {
                sys::napi_create_array_with_length(env.0, items.len(), &mut value);
                for (index, item) in items.iter().enumerate() {
                    sys::napi_set_element(env.0, value, index as u32, to_js(env, item));
                }
            }
        }
    }
    value
}
