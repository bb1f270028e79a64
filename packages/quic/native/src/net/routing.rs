//! Connection ids that a balancer can route by (draft-ietf-quic-load-balancers-21): a first octet, the server's id and a
//! nonce, and bytes of this engine's own. With a key, server id and nonce are encrypted, so that observers cannot link a
//! client's addresses.
//!
//! ```text
//! config rotation (3 bits), length of the rest (5 bits)
//! server id, nonce: one block of up to 16 bytes, encrypted with the key
//! place in a group of workers, or a random byte
//! keyed hash of all bytes before: shows whether this server made the id
//! ```

use std::time::Duration;

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::bridge::error::Failure;

/// Bytes of a block of AES, and of its key.
const AES_BYTES: usize = 16;
/// Below the 20 bytes of the first connection ids that quinn's clients choose; the kernel distinguishes them from ids
/// of a group by length.
const MOST_BYTES: usize = 19;
const MOST_HASH_BYTES: usize = 4;
/// Minimum bytes of a nonce (the draft's §5.3).
const LEAST_NONCE_BYTES: usize = 4;
/// Maximum number of a configuration: 0b111 marks an id that cannot be used for routing.
const MOST_CONFIG: u8 = 6;
/// Position of the configuration's number in the first octet, above the length.
const CONFIG_SHIFT: u8 = 5;

/// How ids are made; shared by all servers and balancers of one configuration.
#[derive(Clone)]
pub struct Routing {
    config: u8,
    server_id: Vec<u8>,
    nonce_bytes: usize,
    cipher: Option<Aes128>,
}

/// Position of a worker's place within an id, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub place_at: usize,
    pub bytes: usize,
    /// The first byte of every id, if it is constant.
    pub first: Option<u8>,
}

impl Routing {
    /// Reads the options that JavaScript packs: config, length of the nonce, length of the server id, server id, key.
    /// Returns None if `packed` is empty.
    pub fn parse(packed: &[u8]) -> Result<Option<Self>, Failure> {
        let &[config, nonce, length, ref rest @ ..] = packed else {
            return Ok(None);
        };
        let (server_id, key) = rest.split_at_checked(usize::from(length)).unwrap_or((&[], &[]));
        let (nonce_bytes, block) = (usize::from(nonce), usize::from(length) + usize::from(nonce));
        if config > MOST_CONFIG || server_id.is_empty() || nonce_bytes < LEAST_NONCE_BYTES || block > AES_BYTES {
            return Err(Failure::option(
                "connectionIds: config must be 0 to 6, serverId at least 1 byte, nonceBytes at least 4, and both together at most 16",
            ));
        }
        let cipher = match key {
            [] => None,
            key => Some(
                Aes128::new_from_slice(key)
                    .map_err(|_| Failure::option("connectionIds: the key must have 16 bytes"))?,
            ),
        };
        Ok(Some(Routing {
            config,
            server_id: server_id.to_vec(),
            nonce_bytes,
            cipher,
        }))
    }

    fn block_bytes(&self) -> usize {
        self.server_id.len() + self.nonce_bytes
    }

    fn hash_bytes(&self) -> usize {
        (MOST_BYTES - 2 - self.block_bytes()).min(MOST_HASH_BYTES)
    }

    fn first(&self, bytes: usize) -> u8 {
        self.config << CONFIG_SHIFT | (bytes - 1) as u8
    }

    pub fn layout(&self) -> Layout {
        let place_at = 1 + self.block_bytes();
        let bytes = place_at + 1 + self.hash_bytes();
        Layout {
            place_at,
            bytes,
            first: Some(self.first(bytes)),
        }
    }

    /// Returns the server id and nonce as sent.
    fn block(&self, nonce: &[u8]) -> Vec<u8> {
        let mut block = [&self.server_id, nonce].concat();
        if let Some(cipher) = &self.cipher {
            encrypt(cipher, &mut block);
        }
        block
    }
}

/// Encrypts a block in place: one of 16 bytes with AES, any other in four passes over its halves (the draft's §5.4).
fn encrypt(cipher: &Aes128, block: &mut [u8]) {
    if let Ok(whole) = <&mut [u8; AES_BYTES]>::try_from(&mut *block) {
        cipher.encrypt_block(whole.into());
        return;
    }
    let length = block.len();
    let half = length.div_ceil(2);
    let odd = length % 2 == 1;
    let (mut left, mut right) = (block[..half].to_vec(), block[length - half..].to_vec());
    // For an odd length each half has four bits of the middle byte.
    let trim = |half: &mut [u8], first: bool| match half {
        [byte, ..] if odd && first => *byte &= 0x0f,
        [.., byte] if odd && !first => *byte &= 0xf0,
        _ => {}
    };
    trim(&mut left, false);
    trim(&mut right, true);
    for pass in 1..=4 {
        let (from, into) = if pass % 2 == 1 {
            (&left, &mut right)
        } else {
            (&right, &mut left)
        };
        let mut expanded = [0; AES_BYTES];
        expanded[..half].copy_from_slice(from);
        expanded[AES_BYTES - 2] = length as u8;
        expanded[AES_BYTES - 1] = pass;
        cipher.encrypt_block((&mut expanded).into());
        for (byte, mask) in into.iter_mut().zip(expanded) {
            *byte ^= mask;
        }
        trim(into, pass % 2 == 1);
    }
    let middle = left[half - 1] | right[0];
    block[..half].copy_from_slice(&left);
    block[length - half..].copy_from_slice(&right);
    if odd {
        block[half - 1] = middle;
    }
}

/// Makes and recognises the ids of one server, or of one of its workers.
pub struct RoutedIds {
    routing: Routing,
    layout: Layout,
    hash: hmac::Key,
    random: SystemRandom,
    place: Option<u8>,
}

impl RoutedIds {
    pub fn new(routing: &Routing, key: &[u8; 32], place: Option<u8>) -> Self {
        RoutedIds {
            routing: routing.clone(),
            layout: routing.layout(),
            hash: hmac::Key::new(hmac::HMAC_SHA256, key),
            random: SystemRandom::new(),
            place,
        }
    }
}

impl ConnectionIdGenerator for RoutedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let Layout { place_at, bytes, .. } = self.layout;
        let mut random = [0; AES_BYTES + 1];
        // Without random bytes no key would have been made.
        let _ = self.random.fill(&mut random);
        let [other, nonce @ ..] = random;
        let mut id = vec![self.routing.first(bytes)];
        id.extend(self.routing.block(&nonce[..self.routing.nonce_bytes]));
        id.push(self.place.unwrap_or(other));
        let hash = hmac::sign(&self.hash, &id);
        id.extend(&hash.as_ref()[..bytes - place_at - 1]);
        ConnectionId::new(&id)
    }

    /// Called for ids without a session at this endpoint. In a group, packets are steered by the place: an id that
    /// arrives here was made by a worker that is gone, of this place or of an empty one. Ids have no room for more
    /// about their maker.
    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        let Layout { place_at, bytes, .. } = self.layout;
        if id.len() != bytes {
            return Err(InvalidCid);
        }
        let (made, hash) = id.split_at(place_at + 1);
        let expected = hmac::sign(&self.hash, made);
        if expected.as_ref()[..hash.len()] == *hash {
            Ok(())
        } else {
            Err(InvalidCid)
        }
    }

    fn cid_len(&self) -> usize {
        self.layout.bytes
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    fn routing(config: u8, server_id: &str, nonce_bytes: usize, key: &str) -> Result<Option<Routing>, Failure> {
        let id = hex(server_id);
        Routing::parse(&[&[config, nonce_bytes as u8, id.len() as u8][..], &id, &hex(key)].concat())
    }

    const KEY: &str = "8f95f09245765f80256934e50c66207f";

    /// The draft's vectors (appendix B), and the example of §5.4.2.3. The second unencrypted vector has an odd number
    /// of digits there and is left out.
    #[test]
    fn the_drafts_vectors() {
        let vectors = [
            (0, "c4605e", "4504cc4f", "", "07c4605e4504cc4f"),
            (0, "ed793a", "ee080dbf", KEY, "0720b1d07b359d3c"),
            (
                1,
                "ed793a51d49b8f5fab65",
                "ee080dbf48",
                KEY,
                "2fcc381bc74cb4fbad2823a3d1f8fed2",
            ),
            (
                2,
                "ed793a51d49b8f5f",
                "ee080dbf48c0d1e5",
                KEY,
                "504dd2d05a7b0de9b2b9907afb5ecf8cc3",
            ),
            (
                0,
                "31441a",
                "9c69c275",
                "fdf726a9893ec05c0632d3956680baf0",
                "0767947d29be054a",
            ),
        ];
        for (config, server_id, nonce, key, id) in vectors {
            let routing = routing(config, server_id, nonce.len() / 2, key).unwrap().unwrap();
            let block = routing.block(&hex(nonce));
            assert_eq!([&[routing.first(1 + block.len())][..], &block].concat(), hex(id));
        }
    }

    /// The draft's vector of 18 bytes is longer than this engine's ids, but `encrypt` accepts it.
    #[test]
    fn a_block_of_more_than_sixteen_bytes() {
        let cipher = Aes128::new_from_slice(&hex(KEY)).unwrap();
        let mut block = hex("ed793a51d49b8f5fabee080dbf48c0d1e55d");
        encrypt(&cipher, &mut block);
        assert_eq!(block, hex("5779c9cc86beb3a3a4a3ca96fce4bfe0cdbc"));
    }

    #[test]
    fn ids_say_their_length_and_who_made_them() {
        for (server, nonce_bytes, bytes) in [("01", 4, 11), ("1122334455667788", 4, 18), ("1122334455667788", 8, 19)] {
            for key in ["", KEY] {
                let routing = routing(5, server, nonce_bytes, key).unwrap().unwrap();
                let mut ids = RoutedIds::new(&routing, &[7; 32], Some(3));
                let id = ids.generate_cid();
                assert_eq!((id.len(), ids.cid_len()), (bytes, bytes));
                assert_eq!(id[0], 5 << 5 | (bytes - 1) as u8);
                assert_eq!(id[routing.layout().place_at], 3);
                assert!(ids.validate(&id).is_ok());
                // If this worker's place is empty, another receives its packets.
                assert!(RoutedIds::new(&routing, &[7; 32], Some(4)).validate(&id).is_ok());
                // The hash of the longest ids is one byte: sometimes another key produces the same.
                let others = RoutedIds::new(&routing, &[8; 32], Some(3));
                let passed = (0..64).filter(|_| others.validate(&ids.generate_cid()).is_ok()).count();
                assert!(passed < 16, "{passed} of 64 ids pass for those of another key");
                assert!(RoutedIds::new(&routing, &[7; 32], None).validate(&id).is_ok());
                assert!(ids.validate(&ConnectionId::new(&id[1..])).is_err());
                if key.is_empty() {
                    assert_eq!(id[1..=server.len() / 2], hex(server));
                }
                assert_ne!(id, ids.generate_cid());
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (config, server, nonce_bytes, key) in [
            (7, "01", 4, ""),
            (0, "", 4, ""),
            (0, "01", 3, ""),
            (0, "1122334455667788", 9, ""),
            (0, "01", 4, "8f"),
        ] {
            assert!(routing(config, server, nonce_bytes, key).is_err());
        }
        assert!(Routing::parse(&[]).unwrap().is_none());
    }
}
