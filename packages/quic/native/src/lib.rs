//! The QUIC engine of `@quicrpc/quic`: sans-IO quinn-proto driven on the JavaScript thread. See docs/engine.md.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod config;
mod congestion;
mod connection;
mod credit;
mod driver;
mod endpoint;
mod envelope;
mod error;
mod exchange;
mod farewells;
#[allow(unsafe_code)]
mod ffi;
mod fields;
#[cfg(target_os = "linux")]
mod group;
#[cfg(not(target_os = "linux"))]
#[path = "no_group.rs"]
mod group;
mod h3;
mod handle;
mod ids;
mod layout;
mod leftovers;
mod members;
mod methods;
#[cfg(test)]
mod pair;
#[cfg(test)]
mod path_tests;
mod reactor;
mod receive_window;
mod recent;
mod redundancy;
mod relay;
mod return_value;
mod routing;
mod secret;
mod silence;
mod sink;
mod socket;
mod stream;
mod stream_window;
mod tls;
mod turn;
mod web;
mod web_methods;

use crate::endpoint::Endpoint;
use crate::envelope::TOKEN_BYTES;
use crate::error::Failure;
use crate::ffi::bound::Methods;
use crate::fields::Fields;
use crate::routing::Routing;
use crate::secret::Secret;
use crate::socket::{Offload, Sharing, Socket};

/// The functions that JavaScript calls, besides `bind`.
const METHODS: &[Methods] = &[methods::METHODS, web_methods::METHODS];

/// Makes the endpoint that `bind` asks for. `options` are fields: an IP address or nothing, the driver, whether it polls
/// busily, whether to share the port, whether to pass several datagrams at once, whether to return memory of
/// ended sessions to the system (one byte each), the descriptor and place of a group's socket, or the port and token of
/// the process that has it and the place, or nothing, a secret of at least 32 bytes or nothing, and this host's name.
fn endpoint_for(options: &[u8], port: u16) -> Result<(Endpoint, driver::Options), Failure> {
    let mut fields = Fields::new(options);
    let host = String::from_utf8_lossy(fields.take());
    let driver = driver::Options {
        choice: driver::Choice::parse(fields.take()),
        busy_poll: fields.take() == [1],
    };
    let sharing = if fields.take() == [1] {
        Sharing::Port
    } else {
        Sharing::None
    };
    let offload = if fields.take() == [1] {
        Offload::System
    } else {
        Offload::None
    };
    let returns_memory = fields.take() == [1];
    let socket = match *fields.take() {
        [a, b, c, d, place] => Socket::adopt(i32::from_le_bytes([a, b, c, d]), place, offload)?,
        [a, b, place, ref token @ ..] if token.len() == TOKEN_BYTES => {
            let mut own = [0; TOKEN_BYTES];
            own.copy_from_slice(token);
            Socket::join(u16::from_le_bytes([a, b]), own, place, offload)?
        }
        _ => Socket::bind(methods::ip_or_any(&host)?, port, sharing, offload)?,
    };
    let secret = Secret::new(fields.take(), fields.take())?;
    let routing = Routing::parse(fields.take())?;
    if routing.is_some() && sharing == Sharing::Port {
        return Err(Failure::option(
            "connectionIds name one server: endpoints of one port are a PortGroup, not reusePort",
        ));
    }
    Ok((Endpoint::new(socket, &secret, routing.as_ref(), returns_memory), driver))
}
