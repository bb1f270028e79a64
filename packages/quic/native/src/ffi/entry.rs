//! Exports of the addon.

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
use crate::methods::ip_or_any;
use crate::{METHODS, endpoint_for, group};

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

/// Binds the sockets of a group of workers. `host` is an IP address or nothing. Returns the port and each socket's descriptor,
/// with a space between them, or a failure list.
#[napi]
pub fn bind_group<'env>(env: &'env Env, host: &[u8], port: u16, places: u32) -> Unknown<'env> {
    let bound = || -> Result<String, Failure> {
        let host = ip_or_any(&String::from_utf8_lossy(host))?;
        let (address, descriptors) = group::bind(host, port, places as usize)?;
        let numbers = descriptors.iter().map(ToString::to_string);
        Ok(std::iter::once(address.port().to_string())
            .chain(numbers)
            .collect::<Vec<_>>()
            .join(" "))
    };
    returned(env, &bound().map_or_else(Answer::from, Answer::Text))
}

/// Has new clients of a group go to the places in `accepting` alone. `descriptor` is that of any of its sockets. Returns
/// undefined, or a failure list.
#[napi]
pub fn steer_group<'env>(env: &'env Env, descriptor: i32, places: u32, accepting: &[u8]) -> Unknown<'env> {
    let steered = group::steer(descriptor, places as usize, accepting);
    returned(env, &steered.map_or_else(Answer::from, |()| Answer::Nothing))
}

fn returned<'env>(env: &'env Env, answer: &Answer) -> Unknown<'env> {
    let raw = env.raw();
    // SAFETY: inside a call of this environment.
    let value = to_js(unsafe { env::Env::new(raw) }, answer);
    // SAFETY: a value made in this call, for this call's return.
    unsafe { Unknown::from_raw_unchecked(raw, value) }
}
