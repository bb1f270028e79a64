//! What the addon exports.

// Left out of the unit tests: their binary runs without Node and cannot link Node-API.
#![cfg(not(test))]

use napi::bindgen_prelude::{Env, JsValue, Unknown};
use napi_derive::napi;

use super::args::to_js;
use super::page::Page;
use super::{bound, env};
use crate::answer::Answer;
use crate::error::Failure;
use crate::host::Host;
use crate::{METHODS, endpoint_for};

/// Binds a UDP socket. `options` are fields, see `endpoint_for`; `records` is a Uint32Array of `RECORDS * RECORD_WORDS`.
/// Returns an object with the functions of methods.rs and web_methods.rs, or a failure list.
#[napi]
pub fn bind<'env>(
    env: &'env Env,
    options: &[u8],
    port: u16,
    dispatch: Unknown<'env>,
    records: Unknown<'env>,
) -> Unknown<'env> {
    let raw = env.raw();
    // SAFETY: inside a call of this environment.
    let env = unsafe { env::Env::new(raw) };
    let start = || -> Result<_, Failure> {
        let (endpoint, driver) = endpoint_for(options, port)?;
        // SAFETY: src/endpoint.ts passes its dispatch function and an array that it keeps to itself.
        let page = unsafe { Page::new(env, dispatch.raw(), records.raw()) }
            .ok_or_else(|| Failure::option("records must be a Uint32Array of the agreed length"))?;
        let host = Host::start(env, endpoint, page, driver)?;
        Ok(bound::object(env, &host, METHODS))
    };
    let value = start().unwrap_or_else(|failure| to_js(env, &Answer::from(failure)));
    // SAFETY: a value made in this call, for this call's return.
    unsafe { Unknown::from_raw_unchecked(raw, value) }
}
