//! The only module with `unsafe`: Node-API, libuv, and the poller that borrows a socket. What it offers is safe.
//!
//! Everything here but [`wake::Wake`] and [`watched::Watched`] runs on the JavaScript thread that owns the environment.

pub mod args;
pub mod bound;
mod entry;
pub mod env;
pub mod event_buffer;
pub mod gro;
pub mod hook;
pub mod memory;
#[cfg(unix)]
pub mod preemptions;
pub mod process;
#[cfg(target_os = "linux")]
pub mod steering;
#[cfg(unix)]
pub mod uv;
pub mod wake;
pub mod watched;
