//! The secret behind stateless resets (RFC 9000 §10.3) and address tokens (§8.1). Endpoints of several processes that share
//! it can end each other's forgotten sessions and take each other's tokens.

use std::sync::Arc;

use quinn_proto as qp;
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Failure;

const MIN_BYTES: usize = 32;
/// Bytes of the largest datagram that is received (RFC 9000 §18.2).
const MAX_UDP_PAYLOAD: u16 = 65_527;

pub struct Secret(Prk);

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl Secret {
    /// Random where none is given.
    pub fn new(given: &[u8]) -> Result<Self, Failure> {
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
        Ok(Secret(Salt::new(HKDF_SHA256, b"quicrpc").extract(bytes)))
    }

    fn derive<const N: usize>(&self, purpose: &[u8]) -> [u8; N] {
        let mut key = [0; N];
        // Fails only beyond 255 hashes of output.
        let _ = self
            .0
            .expand(&[purpose], Bytes(N))
            .and_then(|material| material.fill(&mut key));
        key
    }

    pub fn endpoint_config(&self) -> qp::EndpointConfig {
        let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &self.derive::<64>(b"stateless reset"));
        let mut config = qp::EndpointConfig::new(Arc::new(reset_key));
        // Ids carry a keyed hash; a reset is only sent for an id that an endpoint with this secret could have made.
        let id_key = u64::from_le_bytes(self.derive(b"connection id"));
        // A limit for what peers may try, well within its range; what a path carries is found out.
        let _ = config.max_udp_payload_size(MAX_UDP_PAYLOAD);
        config.cid_generator(move || Box::new(qp::HashedConnectionIdGenerator::from_key(id_key)));
        config
    }

    pub fn token_key(&self) -> Arc<dyn qp::crypto::HandshakeTokenKey> {
        let key = self.derive::<64>(b"address token");
        Arc::new(Salt::new(HKDF_SHA256, &[]).extract(&key))
    }
}
