//! The QUIC engine of `@quicrpc/quic`: sans-IO quinn-proto driven on the JavaScript thread. See docs/engine.md.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod bridge;
mod driver;
mod endpoint;
#[allow(unsafe_code)]
mod ffi;
mod http3;
mod memory;
mod net;
mod quic;
