//! Streams and datagrams that arrived before their session (draft §4.5), up to a limit.

use std::collections::VecDeque;

use super::limits::{HELD_DATAGRAM_BYTES, HELD_STREAMS};

#[derive(Debug, Default)]
pub struct Held {
    streams: Vec<Entry>,
    datagrams: VecDeque<(u64, Vec<u8>)>,
    datagram_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    session: u64,
    stream: u64,
}

impl Held {
    /// Holds a stream. Returns false if there is no room.
    pub fn stream(&mut self, session: u64, stream: u64) -> bool {
        let room = self.streams.len() < HELD_STREAMS;
        if room {
            self.streams.push(Entry { session, stream });
        }
        room
    }

    /// Holds a datagram, or drops it if there is no room: datagrams are unreliable.
    pub fn datagram(&mut self, session: u64, payload: &[u8]) {
        // Empty datagrams must be charged too.
        let bytes = payload.len() + 64;
        if self.datagram_bytes + bytes <= HELD_DATAGRAM_BYTES {
            self.datagram_bytes += bytes;
            self.datagrams.push_back((session, payload.to_vec()));
        }
    }

    #[cfg(test)]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes the streams and datagrams that were held for a session, in the order of arrival.
    pub fn release(&mut self, session: u64) -> (Vec<u64>, Vec<Vec<u8>>) {
        let streams = self.streams.extract_if(.., |entry| entry.session == session);
        let streams = streams.map(|entry| entry.stream).collect();
        let (released, kept) = std::mem::take(&mut self.datagrams)
            .into_iter()
            .partition(|(other, _)| *other == session);
        self.datagrams = kept;
        let released: VecDeque<(u64, Vec<u8>)> = released;
        self.datagram_bytes -= released.iter().map(|(_, payload)| payload.len() + 64).sum::<usize>();
        (streams, released.into_iter().map(|(_, payload)| payload).collect())
    }
}
