//! libuv's functions, resolved at run time. Node does not promise a libuv ABI to addons, and other runtimes lack these
//! symbols; if one is missing, the thread driver is used. Only opaque pointers cross this boundary, and handle sizes
//! are queried, so no struct layout is assumed.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

#[repr(C)]
pub struct Opaque([u8; 0]);
pub type Raw = *mut Opaque;

pub const UV_IDLE: c_int = 6;
pub const UV_POLL: c_int = 8;
pub const UV_PREPARE: c_int = 9;
#[cfg(not(target_os = "linux"))]
pub const UV_TIMER: c_int = 13;
pub const UV_READABLE: c_int = 1;
pub const UV_WRITABLE: c_int = 2;

macro_rules! uv_functions {
    ($($(#[$attribute:meta])* $name:ident $symbol:literal: fn($($arg:ty),*) -> $result:ty;)*) => {
        pub struct Uv { $($(#[$attribute])* pub $name: unsafe extern "C" fn($($arg),*) -> $result,)* }

        impl Uv {
            fn load() -> Option<Self> {
                Some(Uv { $($(#[$attribute])* $name: {
                    // SAFETY: a lookup of a NUL-terminated name; the signature is libuv 1.x's documented one.
                    unsafe {
                        let symbol = libc::dlsym(libc::RTLD_DEFAULT, $symbol.as_ptr());
                        if symbol.is_null() {
                            return None;
                        }
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $result>(symbol)
                    }
                },)* })
            }
        }
    };
}

uv_functions! {
    handle_size c"uv_handle_size": fn(c_int) -> usize;
    handle_set_data c"uv_handle_set_data": fn(Raw, *mut c_void) -> ();
    handle_get_data c"uv_handle_get_data": fn(Raw) -> *mut c_void;
    poll_init c"uv_poll_init": fn(*mut c_void, Raw, c_int) -> c_int;
    poll_start c"uv_poll_start": fn(Raw, c_int, extern "C" fn(Raw, c_int, c_int)) -> c_int;
    #[cfg(not(target_os = "linux"))]
    timer_init c"uv_timer_init": fn(*mut c_void, Raw) -> c_int;
    #[cfg(not(target_os = "linux"))]
    timer_start c"uv_timer_start": fn(Raw, extern "C" fn(Raw), u64, u64) -> c_int;
    prepare_init c"uv_prepare_init": fn(*mut c_void, Raw) -> c_int;
    prepare_start c"uv_prepare_start": fn(Raw, extern "C" fn(Raw)) -> c_int;
    idle_init c"uv_idle_init": fn(*mut c_void, Raw) -> c_int;
    idle_start c"uv_idle_start": fn(Raw, extern "C" fn(Raw)) -> c_int;
    idle_stop c"uv_idle_stop": fn(Raw) -> c_int;
    close c"uv_close": fn(Raw, extern "C" fn(Raw)) -> ();
    version c"uv_version": fn() -> u32;
    reference c"uv_ref": fn(Raw) -> ();
    unreference c"uv_unref": fn(Raw) -> ();
}

pub fn uv() -> Option<&'static Uv> {
    static UV: OnceLock<Option<Uv>> = OnceLock::new();
    // Another major version may number its handle types differently.
    // SAFETY: the documented signature.
    UV.get_or_init(|| Uv::load().filter(|uv| unsafe { (uv.version)() } >> 16 == 1))
        .as_ref()
}

pub fn allocate(uv: &Uv, kind: c_int) -> Option<Raw> {
    // SAFETY: zeroed memory of the size libuv reports for this handle type.
    let handle = unsafe { libc::calloc(1, (uv.handle_size)(kind)) }.cast::<Opaque>();
    (!handle.is_null()).then_some(handle)
}
