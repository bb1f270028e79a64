//! Session tickets under keys that several processes share, so that each can resume sessions of the others (RFC 5077
//! §4).

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::server::ProducesTickets;

use crate::bridge::error::Failure;

pub const KEY_BYTES: usize = 32;
/// In seconds. The application decides how long a key stays in use.
const LIFETIME: u32 = 12 * 3600;
/// A usual ticket holds a few hundred bytes and the client's certificate chain.
const MAX_TICKET_BYTES: usize = 64 * 1024;

/// Seals tickets as nonce | sealed session. The first key seals; every key opens.
#[derive(Debug)]
pub struct SharedTickets {
    keys: Vec<LessSafeKey>,
    made_under: Vec<u8>,
}

impl SharedTickets {
    /// `made_under` are the settings of client authentication: a ticket sealed under other settings does not open, and
    /// its client makes a full handshake.
    pub fn new(keys: &[u8], made_under: Vec<u8>) -> Result<Self, Failure> {
        let (keys, []) = keys.as_chunks::<KEY_BYTES>() else {
            return Err(Failure::option(format!(
                "each of ticketKeys must have {KEY_BYTES} bytes"
            )));
        };
        let keys: Result<Vec<_>, _> = keys
            .iter()
            .map(|key| UnboundKey::new(&CHACHA20_POLY1305, key).map(LessSafeKey::new))
            .collect();
        keys.map(|keys| SharedTickets { keys, made_under })
            .map_err(|_| Failure::option("ticketKeys cannot be used"))
    }
}

impl ProducesTickets for SharedTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let made_under = Aad::from(&self.made_under);
        self.keys
            .first()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), made_under, &mut sealed)
            .ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = ticket.split_first_chunk::<NONCE_LEN>()?;
        if sealed.len() > MAX_TICKET_BYTES {
            return None;
        }
        self.keys.iter().find_map(|key| {
            let mut buffer = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let opened: &[u8] = key
                .open_in_place(nonce, Aad::from(&self.made_under), &mut buffer)
                .ok()?;
            Some(opened.to_vec())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_seals_and_every_key_opens() {
        let (old, new) = ([1; KEY_BYTES], [2; KEY_BYTES]);
        let before = SharedTickets::new(&old, vec![]).ok().unwrap();
        let rotated = SharedTickets::new(&[new, old].concat(), vec![]).ok().unwrap();
        let after = SharedTickets::new(&new, vec![]).ok().unwrap();
        let ticket = before.encrypt(b"session").unwrap();
        assert_eq!(rotated.decrypt(&ticket).unwrap(), b"session");
        assert_eq!(after.decrypt(&ticket), None);
        assert_eq!(after.decrypt(&rotated.encrypt(b"next").unwrap()).unwrap(), b"next");
        let mut forged = ticket;
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(before.decrypt(&forged), None);
        assert_eq!(before.decrypt(b"short"), None);
    }

    #[test]
    fn what_was_sealed_under_other_client_authentication_opens_to_nothing() {
        let key = [1; KEY_BYTES];
        let tickets = |made_under: &[u8]| SharedTickets::new(&key, made_under.to_vec()).ok().unwrap();
        let ticket = tickets(b"none").encrypt(b"session").unwrap();
        assert_eq!(tickets(b"none").decrypt(&ticket).unwrap(), b"session");
        assert_eq!(tickets(b"required").decrypt(&ticket), None);
    }

    #[test]
    fn keys_of_another_length_are_refused() {
        assert!(SharedTickets::new(&[0; KEY_BYTES + 1], vec![]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_no_key_sealed_opens_to_nothing(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), bit in 0..64_usize) {
            let tickets = SharedTickets::new(&[7; KEY_BYTES], vec![]).ok().unwrap();
            proptest::prop_assert_eq!(tickets.decrypt(&bytes), None);
            let mut changed = tickets.encrypt(&bytes).unwrap();
            changed[bit / 8] ^= 1 << (bit % 8);
            proptest::prop_assert_eq!(tickets.decrypt(&changed), None);
        }
    }
}
