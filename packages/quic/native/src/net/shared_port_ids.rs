//! Connection ids of endpoints that share a port and a secret. Holders of the secret can tell which endpoint made an
//! id: a packet for a session of another endpoint is answered with a stateless reset only if that endpoint is gone (RFC
//! 9000 §10.3).

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::ffi::process::is_running;
use crate::net::routing::Layout;

/// An id consists of a nonce, its maker masked with a hash of the nonce, and a keyed hash of both: four bytes each.
const PART: usize = 4;
const LENGTH: usize = 3 * PART;
/// In a group of workers the maker's place precedes that, for the kernel to read.
pub const GROUP_ID_BYTES: usize = 1 + LENGTH;
pub const GROUP_LAYOUT: Layout = Layout {
    place_at: 0,
    bytes: GROUP_ID_BYTES,
    first: None,
};

/// Number of places for the endpoints of one process, in the bits below the process's number.
const PLACES: u32 = 1 << 10;

/// The places of this process that are in use.
static TAKEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn taken() -> std::sync::MutexGuard<'static, BTreeSet<u32>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One endpoint of one process, while it lives.
struct Member(u32);

impl Member {
    /// If every place is in use, several endpoints share the last one.
    fn new() -> Self {
        let mut taken = taken();
        let place = (0..PLACES).find(|place| !taken.contains(place)).unwrap_or(PLACES - 1);
        taken.insert(place);
        Member(std::process::id().wrapping_mul(PLACES) | place)
    }

    /// Whether the endpoint with this number lives on this machine.
    fn lives(number: u32) -> bool {
        let process = number / PLACES;
        if process == std::process::id() % (u32::MAX / PLACES + 1) {
            return taken().contains(&(number % PLACES));
        }
        is_running(process)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        taken().remove(&(self.0 % PLACES));
    }
}

pub struct SharedPortIds {
    mask: hmac::Key,
    hash: hmac::Key,
    random: SystemRandom,
    member: Member,
    /// This endpoint's place in a group of workers.
    place: Option<u8>,
}

fn part(key: &hmac::Key, of: &[u8]) -> [u8; PART] {
    let mut part = [0; PART];
    part.copy_from_slice(&hmac::sign(key, of).as_ref()[..PART]);
    part
}

impl SharedPortIds {
    pub fn new(key: &[u8; 32], place: Option<u8>) -> Self {
        let (mask, hash) = key.split_at(16);
        SharedPortIds {
            mask: hmac::Key::new(hmac::HMAC_SHA256, mask),
            hash: hmac::Key::new(hmac::HMAC_SHA256, hash),
            random: SystemRandom::new(),
            member: Member::new(),
            place,
        }
    }

    fn id(&self, nonce: [u8; PART]) -> [u8; LENGTH] {
        let mask = u32::from_le_bytes(part(&self.mask, &nonce));
        let mut id = [0; LENGTH];
        id[..PART].copy_from_slice(&nonce);
        id[PART..2 * PART].copy_from_slice(&(self.member.0 ^ mask).to_le_bytes());
        let hash = part(&self.hash, &id[..2 * PART]);
        id[2 * PART..].copy_from_slice(&hash);
        id
    }

    /// Returns the endpoint that made an id, or None if no endpoint with this key did.
    fn maker(&self, id: &[u8]) -> Option<u32> {
        let (&nonce, rest) = id.split_first_chunk::<PART>()?;
        let (&masked, hash) = rest.split_first_chunk::<PART>()?;
        if part(&self.hash, &id[..2 * PART]) != *hash {
            return None;
        }
        Some(u32::from_le_bytes(masked) ^ u32::from_le_bytes(part(&self.mask, &nonce)))
    }
}

impl ConnectionIdGenerator for SharedPortIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut nonce = [0; PART];
        // Without random bytes no key would have been made.
        let _ = self.random.fill(&mut nonce);
        let id = self.id(nonce);
        match self.place {
            None => ConnectionId::new(&id),
            Some(place) => ConnectionId::new(&[&[place][..], &id].concat()),
        }
    }

    /// Called for ids without a session at this endpoint. Fails if another endpoint may have the session. A place has
    /// one worker at a time: an id with the same place was made by a worker that is gone, also on systems that cannot
    /// report that.
    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        let is_own_place = self.place.is_some_and(|place| id.first() == Some(&place));
        let id = id.get(usize::from(self.place.is_some())..).unwrap_or_default();
        match self.maker(id) {
            Some(maker) if is_own_place || maker == self.member.0 || !Member::lives(maker) => Ok(()),
            _ => Err(InvalidCid),
        }
    }

    fn cid_len(&self) -> usize {
        self.place.map_or(LENGTH, |_| GROUP_ID_BYTES)
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held by each test that uses places of this process: a freed place is reused at once.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn ids_of_others_are_answered_for_when_those_are_gone() {
        let _alone = ALONE.lock();
        let key = [7; 32];
        let mut first = SharedPortIds::new(&key, None);
        let mut second = SharedPortIds::new(&key, None);
        let (own, others) = (first.generate_cid(), second.generate_cid());
        assert!(first.validate(&own).is_ok());
        assert!(first.validate(&others).is_err());
        drop(second);
        assert!(first.validate(&others).is_ok());
        assert!(SharedPortIds::new(&[8; 32], None).validate(&others).is_err());
        let mut forged = others.to_vec();
        forged[PART] ^= 1;
        assert!(first.validate(&ConnectionId::new(&forged)).is_err());
    }

    #[test]
    fn ids_of_a_group_begin_with_their_makers_place() {
        let _alone = ALONE.lock();
        let key = [7; 32];
        let mut third = SharedPortIds::new(&key, Some(3));
        let fourth = SharedPortIds::new(&key, Some(4));
        let id = third.generate_cid();
        assert_eq!((id.len(), id[0]), (third.cid_len(), 3));
        assert!(third.validate(&id).is_ok());
        assert!(fourth.validate(&id).is_err());
        // The next one in the same place knows that the maker of the id is gone.
        assert!(SharedPortIds::new(&key, Some(3)).validate(&id).is_ok());
        drop(third);
        assert!(fourth.validate(&id).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn so_are_those_of_other_processes() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = child.id() * PLACES;
        assert!(Member::lives(number));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!Member::lives(number));
    }
}
