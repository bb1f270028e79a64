//! The memory through which JavaScript reads events, records and received bytes, and the call that notifies it.

use std::ptr;

use napi::sys;

use super::env::Env;
use crate::bridge::event_batch::{EventBatch, SLAB_BYTES};
use crate::bridge::layout::{RECORD_WORDS, RECORDS};

pub struct EventBuffer {
    env: Env,
    dispatch: sys::napi_ref,
    context: sys::napi_async_context,
    records: *mut u32,
    records_ref: sys::napi_ref,
    slab: *mut u8,
    slab_ref: sys::napi_ref,
    used: usize,
    /// Offset at which the bytes of the last batch begin.
    filled_from: usize,
}

impl EventBuffer {
    /// # Safety
    /// Both are values of the call that runs: `dispatch` a function, `records` a Uint32Array over an ArrayBuffer that
    /// JavaScript never exposes, transfers or resizes.
    pub(super) unsafe fn new(env: Env, dispatch: sys::napi_value, records: sys::napi_value) -> Option<Self> {
        let (mut kind, mut length, mut data) = (-1, 0, ptr::null_mut());
        let mut buffer = EventBuffer {
            env,
            dispatch: ptr::null_mut(),
            context: ptr::null_mut(),
            records: ptr::null_mut(),
            records_ref: ptr::null_mut(),
            slab: ptr::null_mut(),
            slab_ref: ptr::null_mut(),
            used: SLAB_BYTES,
            filled_from: SLAB_BYTES,
        };
        // SAFETY: the caller's promise. The reference keeps the array, and with it the memory, alive.
        unsafe {
            sys::napi_get_typedarray_info(
                env.0,
                records,
                &mut kind,
                &mut length,
                &mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            );
            if kind != sys::TypedarrayType::uint32_array || length != RECORDS * RECORD_WORDS {
                return None;
            }
            buffer.records = data.cast();
            sys::napi_create_reference(env.0, dispatch, 1, &mut buffer.dispatch);
            sys::napi_create_reference(env.0, records, 1, &mut buffer.records_ref);
            let mut name = ptr::null_mut();
            sys::napi_create_string_utf8(env.0, c"quicrpc".as_ptr(), 7, &mut name);
            sys::napi_async_init(env.0, ptr::null_mut(), name, &mut buffer.context);
        }
        Some(buffer)
    }

    /// Lets `fill` write one batch, with room for at least `room` bytes in the slab. Returns the number of records.
    /// Requires an open handle scope.
    pub fn fill(&mut self, room: usize, fill: impl FnOnce(&mut EventBatch<'_>)) -> usize {
        if self.used + room.max(1) > SLAB_BYTES || self.slab_detached() {
            self.renew_slab();
        }
        if self.slab.is_null() {
            return 0;
        }
        self.filled_from = self.used;
        // SAFETY: both regions are kept alive by references and checked against detachment; JavaScript does not run
        // while these borrows exist. Bytes below `used` are not written again while JavaScript may hold chunks of them.
        let mut batch = unsafe {
            EventBatch {
                records: std::slice::from_raw_parts_mut(self.records, RECORDS * RECORD_WORDS),
                slab: std::slice::from_raw_parts_mut(self.slab, SLAB_BYTES),
                count: 0,
                used: self.used,
            }
        };
        fill(&mut batch);
        self.used = batch.used;
        batch.count
    }

    /// Reuses the slab bytes of the last batch, none of whose chunks is still in use. Their memory is in the
    /// processor's cache, and fewer slabs mean less work for the garbage collector.
    pub fn rewind(&mut self) {
        self.used = self.filled_from;
    }

    /// A handler may have transferred the buffer behind a chunk to another thread; its memory then no longer belongs to
    /// the engine.
    fn slab_detached(&self) -> bool {
        let (mut slab, mut buffer, mut detached) = (ptr::null_mut(), ptr::null_mut(), true);
        // SAFETY: a live reference, inside a handle scope.
        unsafe {
            sys::napi_get_reference_value(self.env.0, self.slab_ref, &mut slab);
            sys::napi_get_typedarray_info(
                self.env.0,
                slab,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                &mut buffer,
                ptr::null_mut(),
            );
            sys::napi_is_detached_arraybuffer(self.env.0, buffer, &mut detached);
        }
        detached
    }

    fn renew_slab(&mut self) {
        let (mut value, mut data) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: inside a handle scope; the old slab lives on as long as JavaScript holds chunks of it.
        unsafe {
            if !self.slab_ref.is_null() {
                sys::napi_delete_reference(self.env.0, self.slab_ref);
                self.slab_ref = ptr::null_mut();
            }
            self.slab = ptr::null_mut();
            if sys::napi_create_buffer(self.env.0, SLAB_BYTES, &mut data, &mut value) == sys::Status::napi_ok {
                sys::napi_create_reference(self.env.0, value, 1, &mut self.slab_ref);
                self.slab = data.cast();
                self.used = 0;
            }
        }
    }

    pub fn call(&self) -> Call {
        Call {
            env: self.env,
            dispatch: self.dispatch,
            context: self.context,
            slab: self.slab_ref,
        }
    }

    /// Drops the references to JavaScript. Not in Drop: that may run in a finalizer, in which references cannot be
    /// deleted.
    pub fn release(&mut self) {
        // SAFETY: each reference is deleted once, while the environment lives.
        unsafe {
            for reference in [&mut self.dispatch, &mut self.records_ref, &mut self.slab_ref] {
                if !reference.is_null() {
                    sys::napi_delete_reference(self.env.0, *reference);
                    *reference = ptr::null_mut();
                }
            }
            if !self.context.is_null() {
                sys::napi_async_destroy(self.env.0, self.context);
                self.context = ptr::null_mut();
            }
        }
        self.slab = ptr::null_mut();
    }
}

/// The call into JavaScript, without any borrow: handlers call back into the engine.
pub struct Call {
    env: Env,
    dispatch: sys::napi_ref,
    context: sys::napi_async_context,
    slab: sys::napi_ref,
}

impl Call {
    /// `dispatch(count, slab)`. From a bare libuv callback (`outermost`) the call must also run microtasks and ticks.
    /// Returns whether JavaScript may keep chunks of the batch.
    pub fn run(&self, count: usize, outermost: bool) -> bool {
        if self.dispatch.is_null() {
            return true;
        }
        let mut keeps = true;
        let (mut dispatch, mut slab, mut number, mut global, mut result) = (
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        );
        // SAFETY: live references, inside a handle scope. An exception that escapes the dispatch loop must not stay
        // pending when control returns to libuv.
        unsafe {
            sys::napi_get_reference_value(self.env.0, self.dispatch, &mut dispatch);
            sys::napi_get_reference_value(self.env.0, self.slab, &mut slab);
            sys::napi_create_uint32(self.env.0, count as u32, &mut number);
            sys::napi_get_global(self.env.0, &mut global);
            let args = [number, slab];
            let status = if outermost {
                sys::napi_make_callback(
                    self.env.0,
                    self.context,
                    global,
                    dispatch,
                    2,
                    args.as_ptr(),
                    &mut result,
                )
            } else {
                sys::napi_call_function(self.env.0, global, dispatch, 2, args.as_ptr(), &mut result)
            };
            if status == sys::Status::napi_ok {
                sys::napi_get_value_bool(self.env.0, result, &mut keeps);
            } else if status == sys::Status::napi_pending_exception {
                let mut exception = ptr::null_mut();
                sys::napi_get_and_clear_last_exception(self.env.0, &mut exception);
                sys::napi_fatal_exception(self.env.0, exception);
            }
        }
        keeps
    }
}
