//! What JavaScript sees: functions, records of events, handles, failures. The calls of Node-API itself are in `ffi`.

pub mod early_flush;
pub mod error;
pub mod event_batch;
pub mod fields;
pub mod handle;
pub mod layout;
pub mod methods;
pub mod reactor;
pub mod return_value;
mod web_methods;

use crate::bridge::error::Failure;
use crate::bridge::fields::Fields;
use crate::driver;
use crate::endpoint::Endpoint;
use crate::ffi::bound::Methods;
use crate::net::bind::Sharing;
use crate::net::relay_envelope::TOKEN_BYTES;
use crate::net::routing::Routing;
use crate::net::socket::{Offload, Socket};
use crate::quic::secret::Secret;

/// The functions that JavaScript calls, besides `bind`.
pub const METHODS: &[Methods] = &[methods::METHODS, web_methods::METHODS];

/// Makes the endpoint that `bind` asks for. `options` are fields: an IP address or nothing, the driver, whether it polls
/// busily, whether to share the port, whether to pass several datagrams at once, whether to return memory of
/// ended sessions to the system (one byte each), the descriptor and place of a group's socket, or the port and token of
/// the process that has it and the place, or nothing, a secret of at least 32 bytes or nothing, and this host's name.
pub fn endpoint_for(options: &[u8], port: u16) -> Result<(Endpoint, driver::Options), Failure> {
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
