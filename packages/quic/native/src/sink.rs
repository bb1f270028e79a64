//! Records on their way to JavaScript: four 32-bit words each, and received bytes in a slab.
//!
//! Mirrors `src/records.ts`.

use crate::handle::Handle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// An accepted bidirectional stream: session index, stream index, stream generation.
    Stream = 1,
    /// Stream index, offset into the slab, length.
    Data = 2,
    /// The peer's FIN: stream index, freed.
    End = 3,
    /// The peer's RESET_STREAM: stream index, freed, code.
    Reset = 4,
    /// The peer's STOP_SENDING: stream index, freed, code.
    Stopped = 5,
    /// Stream index.
    Drain = 6,
    /// The last pending bytes of a stream have gone and nothing remains of it: stream index.
    Freed = 7,
    /// The session was lost before the stream ended: stream index, failure number.
    StreamClosed = 8,
    /// Handshake complete, or WebTransport session granted: session index, generation, flags.
    Connected = 9,
    /// The session ended: session index, generation, failure number.
    Lost = 10,
    /// The endpoint's handles are closed.
    Closed = 11,
    /// The engine failed and has shut down.
    Broken = 12,
    /// An accepted unidirectional stream: session index, stream index, stream generation.
    UniStream = 13,
    /// A datagram: session index, offset into the slab, length.
    Datagram = 14,
    /// Datagrams may be sent again: session index, generation.
    DatagramDrain = 15,
    /// A client asks for a WebTransport session: session index, generation, connection index.
    Asked = 16,
    /// The peer asks to wind the session up: session index, generation.
    Draining = 17,
    /// Nothing has come from the peer of a dialled session for a while: session index, generation, PINGs it did not answer.
    Silent = 18,
    /// An accepted connection failed before it became a session, by TLS: failure number.
    HandshakeFailed = 20,
    /// The handshake of a session that began early is complete: connection index, generation, whether the peer took the
    /// early data.
    Ready = 21,
}

pub const RECORD_WORDS: usize = 4;
pub const RECORDS: usize = 1024;
pub const SLAB_BYTES: usize = 256 * 1024;

/// Above the bits of the generation in `Stream` and `UniStream`: it came before the handshake was complete.
pub const EARLY_STREAM: u32 = 1 << 31;

/// Flags of `Connected`.
pub const ACCEPTED: u32 = 1;
pub const HTTP3: u32 = 2;
/// The handshake is not yet complete; `Ready` follows.
pub const EARLY: u32 = 4;

/// A record that waits for the next batch.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    pub kind: Kind,
    pub words: [u32; 3],
    /// Dropped when this stream no longer exists by then.
    pub stream: Option<Handle>,
}

/// One batch: borrowed views of the memory that JavaScript reads.
pub struct Sink<'a> {
    pub records: &'a mut [u32],
    pub slab: &'a mut [u8],
    pub count: usize,
    /// Bytes of the slab in use: JavaScript may keep views of them.
    pub used: usize,
}

impl Sink<'_> {
    /// A stream may need three records at once.
    pub fn full(&self) -> bool {
        self.count + 3 > RECORDS
    }

    pub fn push(&mut self, kind: Kind, words: [u32; 3]) {
        let at = self.count * RECORD_WORDS;
        let record = &mut self.records[at..at + RECORD_WORDS];
        record[0] = kind as u32;
        record[1..].copy_from_slice(&words);
        self.count += 1;
    }

    pub fn room(&self) -> usize {
        self.slab.len() - self.used
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.slab[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_bytes_are_laid_out_in_order() {
        let (mut records, mut slab) = (vec![0; RECORDS * RECORD_WORDS], vec![0; 8]);
        let mut sink = Sink {
            records: &mut records,
            slab: &mut slab,
            count: 0,
            used: 2,
        };
        sink.put(b"abc");
        sink.push(Kind::Data, [7, 2, 3]);
        sink.push(Kind::End, [7, 1, 0]);
        assert_eq!((sink.count, sink.used, sink.room()), (2, 5, 3));
        assert_eq!(records[..8], [2, 7, 2, 3, 3, 7, 1, 0]);
        assert_eq!(&slab, b"\0\0abc\0\0\0");
    }
}
