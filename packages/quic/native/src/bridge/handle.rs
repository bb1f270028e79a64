//! Handles that JavaScript holds: a table index and a generation, packed into an integer below 2^53. The generation
//! makes a stale handle invalid after its place was reused.

use crate::bridge::layout::{INDEX_BITS, WEB_TRANSPORT};

const GENERATION_MASK: u32 = (1 << 28) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub index: u32,
    pub generation: u32,
}

impl Handle {
    pub fn pack(self) -> f64 {
        ((u64::from(self.generation) << INDEX_BITS) | u64::from(self.index)) as f64
    }

    pub fn unpack(number: f64) -> Self {
        let bits = number as u64;
        Handle {
            index: (bits & ((1 << INDEX_BITS) - 1)) as u32,
            generation: (bits >> INDEX_BITS) as u32 & GENERATION_MASK,
        }
    }
}

/// The thing that a session handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    Quic(Handle),
    WebTransport(Handle),
}

impl Session {
    pub fn unpack(number: f64) -> Self {
        let Handle { index, generation } = Handle::unpack(number);
        if index < WEB_TRANSPORT {
            Session::Quic(Handle { index, generation })
        } else {
            let index = index - WEB_TRANSPORT;
            Session::WebTransport(Handle { index, generation })
        }
    }

    /// Returns the handle as JavaScript uses it.
    pub fn handle(self) -> Handle {
        match self {
            Session::Quic(handle) => handle,
            Session::WebTransport(Handle { index, generation }) => Handle {
                index: index + WEB_TRANSPORT,
                generation,
            },
        }
    }
}

/// Values under handles. While JavaScript handles a batch of records, freed indices are not reused, so that no later
/// record of that batch can name a newer value.
pub struct Table<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
    held_back: Vec<u32>,
    holding: bool,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            entries: Vec::new(),
            free: Vec::new(),
            held_back: Vec::new(),
            holding: false,
        }
    }
}

impl<T> Table<T> {
    /// Returns None if 2^24 values are live.
    pub fn insert(&mut self, value: T) -> Option<Handle> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.entries.len() < 1 << INDEX_BITS => {
                self.entries.push((0, None));
                (self.entries.len() - 1) as u32
            }
            None => return None,
        };
        let (generation, slot) = &mut self.entries[index as usize];
        *slot = Some(value);
        Some(Handle {
            index,
            generation: *generation,
        })
    }

    pub fn get(&self, handle: Handle) -> Option<&T> {
        let (generation, value) = self.entries.get(handle.index as usize)?;
        value.as_ref().filter(|_| *generation == handle.generation)
    }

    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let (generation, value) = self.entries.get_mut(handle.index as usize)?;
        value.as_mut().filter(|_| *generation == handle.generation)
    }

    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let (generation, value) = self.entries.get_mut(handle.index as usize)?;
        if *generation != handle.generation {
            return None;
        }
        let value = value.take()?;
        *generation = (*generation + 1) & GENERATION_MASK;
        if self.holding {
            self.held_back.push(handle.index);
        } else {
            self.free.push(handle.index);
        }
        Some(value)
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len() - self.held_back.len()
    }

    /// Whether JavaScript handles a batch of records.
    pub fn holds(&self) -> bool {
        self.holding
    }

    /// Keeps removed indices from being reused, until `release`.
    pub fn hold(&mut self) {
        self.holding = true;
    }

    pub fn release(&mut self) {
        self.holding = false;
        self.free.append(&mut self.held_back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_survives_every_corner() {
        for index in [0, 1, 77, (1 << INDEX_BITS) - 1] {
            for generation in [0, 1, 0xfff_ffff] {
                let handle = Handle { index, generation };
                assert!(handle.pack() < 9_007_199_254_740_992.0);
                assert_eq!(Handle::unpack(handle.pack()), handle);
            }
        }
    }

    #[test]
    fn a_stale_handle_finds_nothing() {
        let mut table = Table::default();
        let old = table.insert('a').unwrap();
        assert_eq!(table.remove(old), Some('a'));
        let new = table.insert('b').unwrap();
        assert_eq!(new.index, old.index);
        assert_eq!(table.get(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&'b'));
    }

    #[test]
    fn held_indices_come_back_after_release() {
        let mut table = Table::default();
        let first = table.insert(1).unwrap();
        table.hold();
        table.remove(first);
        assert_ne!(table.insert(2).unwrap().index, first.index);
        table.release();
        assert_eq!(table.insert(3).unwrap().index, first.index);
    }
}
