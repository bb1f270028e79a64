//! Exports of the addon.

// Left out of the unit tests: their binary runs without Node and cannot link Node-API.
#![cfg(not(test))]

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Env, JsValue, Unknown};
use napi_derive::napi;

use super::args::to_js;
use super::event_buffer::EventBuffer;
use super::{bound, env};
use crate::bridge::error::Failure;
use crate::bridge::fields::Fields;
use crate::bridge::methods::ip_or_any;
use crate::bridge::reactor::Reactor;
use crate::bridge::return_value::ReturnValue;
use crate::bridge::{METHODS, endpoint_for, layout};
use crate::net::port_group;
use crate::net::relay::Relay;
use crate::net::relay_envelope::Token;
use crate::net::routing::{Layout, Routing};
use crate::net::shared_port_ids::GROUP_LAYOUT;
use crate::net::socket::Offload;
use crate::quic::tls::certificate::{self, Kind, Request};

/// Compared by `src/engine-file.ts` before it uses anything else.
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
        let buffer = unsafe { EventBuffer::new(env, dispatch.raw(), records.raw()) }
            .ok_or_else(|| Failure::option("records must be a Uint32Array of the agreed length"))?;
        let reactor = Reactor::start(env, endpoint, buffer, driver)?;
        Ok(bound::object(env, &reactor, METHODS))
    };
    let value = start().unwrap_or_else(|failure| to_js(env, &ReturnValue::from(failure)));
    // SAFETY: a value made in this call, for this call's return.
    unsafe { Unknown::from_raw_unchecked(raw, value) }
}

/// Binds the sockets of a group of workers. `host` is an IP address or empty. Returns the port and each socket's
/// descriptor, separated by spaces, or a failure list. `ids` describes how connection ids are made, as in the options
/// of `bind`.
#[napi]
pub fn bind_group<'env>(env: &'env Env, host: &[u8], port: u16, places: u32, ids: &[u8]) -> Unknown<'env> {
    let bound = || -> Result<String, Failure> {
        let host = ip_or_any(&String::from_utf8_lossy(host))?;
        let (address, descriptors) = port_group::bind(host, port, places as usize, layout_of(ids)?)?;
        let numbers = descriptors.iter().map(ToString::to_string);
        Ok(std::iter::once(address.port().to_string())
            .chain(numbers)
            .collect::<Vec<_>>()
            .join(" "))
    };
    returned(env, &bound().map_or_else(ReturnValue::from, ReturnValue::Text))
}

/// This process's relays of ports for groups of workers, by their numbers.
static RELAYS: Mutex<BTreeMap<u32, Relay>> = Mutex::new(BTreeMap::new());

fn relays() -> MutexGuard<'static, BTreeMap<u32, Relay>> {
    RELAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binds the port of a group whose packets this process relays to the workers that know the token (`relay.rs`). Returns
/// the relay's number, the port and the port to which workers send greetings, separated by spaces, or a failure list.
#[napi]
pub fn bind_relay<'env>(
    env: &'env Env,
    host: &[u8],
    port: u16,
    offload: bool,
    places: u32,
    token: &[u8],
    ids: &[u8],
) -> Unknown<'env> {
    let bound = || -> Result<String, Failure> {
        let host = ip_or_any(&String::from_utf8_lossy(host))?;
        let token = Token::try_from(token).map_err(|_| Failure::option("the token of a group must have 16 bytes"))?;
        let offload = if offload { Offload::System } else { Offload::None };
        let relay = Relay::bind(host, port, offload, places as usize, token, layout_of(ids)?)?;
        let mut relays = relays();
        let number = relays.last_key_value().map_or(0, |(last, _)| last + 1);
        let text = format!("{number} {} {}", relay.port(), relay.channel_port());
        relays.insert(number, relay);
        Ok(text)
    };
    returned(env, &bound().map_or_else(ReturnValue::from, ReturnValue::Text))
}

/// Routes new clients only to the places in `accepting`, and packets for the places in `empty` to the first of them.
/// Returns undefined, or a failure list.
#[napi]
pub fn steer_relay<'env>(env: &'env Env, number: u32, accepting: &[u8], empty: &[u8]) -> Unknown<'env> {
    let steered = relays()
        .get(&number)
        .map_or(Ok(()), |relay| relay.steer(accepting, empty));
    returned(
        env,
        &steered.map_or_else(ReturnValue::from, |()| ReturnValue::Undefined),
    )
}

/// Ends the relay and frees its port.
#[napi]
pub fn close_relay(number: u32) {
    let relay = relays().remove(&number);
    // Dropped here, after the lock was released, because the drop waits for its threads.
    drop(relay);
}

/// Claims `wanted` places of a group that another process has bound, by the descriptors of all its sockets. Returns the
/// port and the places, separated by spaces, or a failure list.
#[napi]
pub fn claim_places<'env>(env: &'env Env, descriptors: Vec<i32>, wanted: u32) -> Unknown<'env> {
    let claimed = port_group::claim(&descriptors, wanted as usize);
    let text = claimed.map(|(address, places)| {
        let numbers = places.iter().map(|place| format!(" {place}"));
        format!("{}{}", address.port(), numbers.collect::<String>())
    });
    returned(env, &text.map_or_else(ReturnValue::from, ReturnValue::Text))
}

/// Releases a place that `claim_places` has claimed.
#[napi]
pub fn unclaim_place(descriptor: i32) {
    port_group::unclaim(descriptor);
}

/// Routes new clients of a group only to the places in `accepting`, and packets for the places in `empty` to the first
/// of them. If places are claimed, `claimed` lists those of this process, and `turn` is the previous result; see
/// `port_group::steer_claimed`. Returns the turn, or a failure list.
#[napi]
pub fn steer_group<'env>(
    env: &'env Env,
    descriptors: Vec<i32>,
    accepting: &[u8],
    empty: &[u8],
    claimed: &[u8],
    turn: u32,
    ids: &[u8],
) -> Unknown<'env> {
    let steered = layout_of(ids).and_then(|layout| match claimed {
        [] => port_group::steer(&descriptors, accepting, empty, layout).map(|()| turn),
        own => port_group::steer_claimed(&descriptors, accepting, empty, own, turn, layout),
    });
    returned(
        env,
        &steered.map_or_else(ReturnValue::from, |turn| ReturnValue::Number(turn.into())),
    )
}

/// Creates a certificate and its key, valid between two times in seconds since 1970. `fields` are the common name, one
/// byte that is 1 for an authority, the issuer's certificate and key or nothing twice, and the hosts. Returns both as PEM,
/// or a failure list.
#[napi(catch_unwind)]
pub fn create_certificate<'env>(env: &'env Env, fields: &[u8], not_before: f64, not_after: f64) -> Unknown<'env> {
    let mut fields = Fields::new(fields);
    let mut text = || std::str::from_utf8(fields.take()).unwrap_or_default();
    let (common_name, authority, cert, key) = (text(), text(), text(), text());
    let mut hosts = Vec::new();
    while !fields.is_empty() {
        hosts.push(std::str::from_utf8(fields.take()).unwrap_or_default());
    }
    let kind = match (authority, cert) {
        ("\u{1}", _) => Kind::Authority,
        (_, "") => Kind::SelfSigned,
        _ => Kind::SignedBy { cert, key },
    };
    let created = certificate::create(&Request {
        common_name,
        hosts: &hosts,
        not_before: not_before as i64,
        not_after: not_after as i64,
        kind,
    });
    let failure = |error| ReturnValue::from(Failure::option(format!("cannot create the certificate: {error}")));
    returned(env, &created.map_or_else(failure, ReturnValue::Text))
}

/// Position of the place in the connection ids of a group; `ids` are the options of a balancer's ids, if any.
fn layout_of(ids: &[u8]) -> Result<Layout, Failure> {
    Ok(Routing::parse(ids)?.map_or(GROUP_LAYOUT, |routing| routing.layout()))
}

fn returned<'env>(env: &'env Env, value: &ReturnValue) -> Unknown<'env> {
    let raw = env.raw();
    // SAFETY: inside a call of this environment.
    let value = to_js(unsafe { env::Env::new(raw) }, value);
    // SAFETY: a value made in this call, for this call's return.
    unsafe { Unknown::from_raw_unchecked(raw, value) }
}
