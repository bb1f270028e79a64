//! The secret behind stateless resets (RFC 9000 §10.3) and address tokens (§8.1). Endpoints that share it accept each
//! other's tokens. An endpoint that replaces another on the same host and address resets the sessions that its
//! predecessor left.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto as qp;
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::bridge::error::Failure;
use crate::net::bind::Sharing;
use crate::net::routing::{RoutedIds, Routing};
use crate::net::shared_port_ids::SharedPortIds;
use crate::net::socket::Socket;

const MIN_BYTES: usize = 32;
/// Maximum bytes of a received datagram (RFC 9000 §18.2).
const MAX_UDP_PAYLOAD: u16 = 65_527;

pub struct Secret {
    prk: Prk,
    host: Vec<u8>,
}

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl Secret {
    /// Makes a random secret if `given` is empty. `host` names this machine among those that use the same secret.
    pub fn new(given: &[u8], host: &[u8]) -> Result<Self, Failure> {
        let mut random = [0; MIN_BYTES];
        let bytes = if given.is_empty() {
            SystemRandom::new()
                .fill(&mut random)
                .map_err(|_| Failure::system(&std::io::Error::other("no random bytes"), "make a key"))?;
            &random
        } else if given.len() >= MIN_BYTES {
            given
        } else {
            return Err(Failure::option(format!("secret must have at least {MIN_BYTES} bytes")));
        };
        Ok(Secret {
            prk: Salt::new(HKDF_SHA256, b"quicrpc").extract(bytes),
            host: host.to_vec(),
        })
    }

    fn derive<const N: usize>(&self, purpose: &[&[u8]]) -> [u8; N] {
        let mut key = [0; N];
        // Fails only beyond 255 hashes of output.
        let _ = self
            .prk
            .expand(purpose, Bytes(N))
            .and_then(|material| material.fill(&mut key));
        key
    }

    /// Makes the endpoint's configuration. Stateless reset tokens are bound to host and address, so that another server
    /// with the same secret cannot end this one's live sessions (RFC 9000 §21.11).
    pub fn endpoint_config(&self, socket: &Socket, routing: Option<&Routing>) -> qp::EndpointConfig {
        let address = socket.address().to_string();
        let place = |purpose: &'static [u8]| [purpose, &[0], &self.host, &[0], address.as_bytes()];
        let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &self.derive::<64>(&place(b"stateless reset")));
        let mut config = qp::EndpointConfig::new(Arc::new(reset_key));
        // `ResetLimit` has its own.
        config.min_reset_interval(Duration::ZERO);
        // A limit for the sizes that peers may probe; the size that a path carries is discovered.
        let _ = config.max_udp_payload_size(MAX_UDP_PAYLOAD);
        // Ids carry a keyed hash; a reset is only sent for an id that this endpoint or a predecessor could have made.
        let id_key: [u8; 32] = self.derive(&place(b"connection id"));
        if let Some(routing) = routing.cloned() {
            let place = match socket.sharing() {
                Sharing::Group(place) => Some(place),
                _ => None,
            };
            config.cid_generator(move || Box::new(RoutedIds::new(&routing, &id_key, place)));
            return config;
        }
        match socket.sharing() {
            Sharing::None => {
                let [a, b, c, d, e, f, g, h, ..] = id_key;
                let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                config.cid_generator(move || Box::new(qp::HashedConnectionIdGenerator::from_key(key)))
            }
            Sharing::Port => config.cid_generator(move || Box::new(SharedPortIds::new(&id_key, None))),
            Sharing::Group(place) => config.cid_generator(move || Box::new(SharedPortIds::new(&id_key, Some(place)))),
        };
        config
    }

    pub fn token_key(&self) -> Arc<dyn qp::crypto::HandshakeTokenKey> {
        let key = self.derive::<64>(&[b"address token"]);
        Arc::new(Salt::new(HKDF_SHA256, &[]).extract(&key))
    }
}
