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
use crate::members::GROUP_LAYOUT;
use crate::methods::ip_or_any;
use crate::routing::{Layout, Routing};
use crate::{METHODS, endpoint_for, group, layout};

/// `src/engine-file.ts` compares it before it uses anything else.
#[napi]
pub const LAYOUT: u32 = layout::LAYOUT;

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
/// with a space between them, or a failure list. `ids` says how connection ids are made, as in the options of `bind`.
#[napi]
pub fn bind_group<'env>(env: &'env Env, host: &[u8], port: u16, places: u32, ids: &[u8]) -> Unknown<'env> {
    let bound = || -> Result<String, Failure> {
        let host = ip_or_any(&String::from_utf8_lossy(host))?;
        let (address, descriptors) = group::bind(host, port, places as usize, layout_of(ids)?)?;
        let numbers = descriptors.iter().map(ToString::to_string);
        Ok(std::iter::once(address.port().to_string())
            .chain(numbers)
            .collect::<Vec<_>>()
            .join(" "))
    };
    returned(env, &bound().map_or_else(Answer::from, Answer::Text))
}

/// Takes `wanted` places of a group that another process has bound, by the descriptors of all its sockets. Returns the port and the
/// places, with a space between them, or a failure list.
#[napi]
pub fn claim_places<'env>(env: &'env Env, descriptors: Vec<i32>, wanted: u32) -> Unknown<'env> {
    let claimed = group::claim(&descriptors, wanted as usize);
    let text = claimed.map(|(address, places)| {
        let numbers = places.iter().map(|place| format!(" {place}"));
        format!("{}{}", address.port(), numbers.collect::<String>())
    });
    returned(env, &text.map_or_else(Answer::from, Answer::Text))
}

/// Gives back a place that `claim_places` took.
#[napi]
pub fn unclaim_place(descriptor: i32) {
    group::unclaim(descriptor);
}

/// Has new clients of a group go to the places in `accepting` alone. Where places are claimed, `claimed` has those of this process, and
/// packets for places that no process has claimed go to the first that accepts. Returns undefined, or a failure list.
#[napi]
pub fn steer_group<'env>(
    env: &'env Env,
    descriptors: Vec<i32>,
    accepting: &[u8],
    claimed: &[u8],
    ids: &[u8],
) -> Unknown<'env> {
    let gone = match claimed {
        [] => Vec::new(),
        own => group::unclaimed(&descriptors, own),
    };
    let steered = layout_of(ids).and_then(|layout| group::steer(&descriptors, accepting, &gone, layout));
    returned(env, &steered.map_or_else(Answer::from, |()| Answer::Nothing))
}

/// Where a place is in the ids of a group, with the options `ids` of a balancer's ids, if any.
fn layout_of(ids: &[u8]) -> Result<Layout, Failure> {
    Ok(Routing::parse(ids)?.map_or(GROUP_LAYOUT, |routing| routing.layout()))
}

fn returned<'env>(env: &'env Env, answer: &Answer) -> Unknown<'env> {
    let raw = env.raw();
    // SAFETY: inside a call of this environment.
    let value = to_js(unsafe { env::Env::new(raw) }, answer);
    // SAFETY: a value made in this call, for this call's return.
    unsafe { Unknown::from_raw_unchecked(raw, value) }
}
