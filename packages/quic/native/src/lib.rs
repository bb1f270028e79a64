//! The QUIC engine of `@quicrpc/quic`: sans-IO quinn-proto driven on the JavaScript thread. See docs/engine.md.

#![cfg_attr(test, allow(dead_code, unused_imports))]

mod config;
mod congestion;
mod connection;
mod driver;
mod endpoint;
mod error;
mod fields;
mod h3;
mod handle;
mod host;
mod ids;
mod js;
mod methods;
mod receive_window;
mod recent;
mod redundancy;
mod secret;
mod sink;
mod socket;
mod stream;
mod tls;
mod web;
mod web_methods;

use napi::bindgen_prelude::{Env, JsValue, Unknown};
use napi_derive::napi;

use crate::driver::Choice;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::fields::Fields;
use crate::host::Host;
use crate::js::args::Answer;
use crate::js::page::Page;
use crate::secret::Secret;
use crate::socket::{Sharing, Socket};

/// Binds a UDP socket. `options` are fields: an IP address or nothing, the driver, whether to share the port (one byte), and
/// a secret of at least 32 bytes or nothing; `records` is a Uint32Array of `RECORDS * RECORD_WORDS`. Returns an object with
/// the functions of methods.rs, or a failure list.
// Left out of the unit tests: their binary runs without Node and cannot link Node-API.
#[cfg(not(test))]
#[napi]
pub fn bind<'env>(
    env: &'env Env,
    options: &[u8],
    port: u16,
    dispatch: Unknown<'env>,
    records: Unknown<'env>,
) -> Unknown<'env> {
    let raw = env.raw();
    let start = || -> Result<_, Failure> {
        let mut fields = Fields::new(options);
        let host = String::from_utf8_lossy(fields.take());
        let driver = Choice::parse(fields.take());
        let sharing = if fields.take() == [1] {
            Sharing::Port
        } else {
            Sharing::None
        };
        let socket = Socket::bind(methods::ip_or_any(&host)?, port, sharing)?;
        let endpoint = Endpoint::new(socket, &Secret::new(fields.take())?);
        // SAFETY: inside a call of this environment; src/endpoint.ts passes its dispatch function and an array that it
        // keeps to itself.
        unsafe {
            let page = Page::new(raw, dispatch.raw(), records.raw())
                .ok_or_else(|| Failure::option("records must be a Uint32Array of the agreed length"))?;
            let host = Host::start(raw, endpoint, page, driver)?;
            Ok(js::bound::object(
                raw,
                &host,
                &[methods::METHODS, web_methods::METHODS].concat(),
            ))
        }
    };
    // SAFETY: values made in this call, for this call's return.
    unsafe {
        let value = start().unwrap_or_else(|failure| Answer::from(failure).to_js(raw));
        Unknown::from_raw_unchecked(raw, value)
    }
}
