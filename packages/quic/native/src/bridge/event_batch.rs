//! Records on their way to JavaScript: four 32-bit words each, and received bytes in a slab.

use crate::bridge::handle::Handle;
use crate::bridge::layout::{Kind, RECORD_WORDS, RECORDS};

pub const SLAB_BYTES: usize = 256 * 1024;

/// A record that waits for the next batch.
#[derive(Clone, Copy, Debug)]
pub struct QueuedRecord {
    pub kind: Kind,
    pub words: [u32; 3],
    /// The record is dropped if this stream no longer exists when the batch is made.
    pub stream: Option<Handle>,
}

/// One batch: borrowed views of the memory that JavaScript reads.
pub struct EventBatch<'a> {
    pub records: &'a mut [u32],
    pub slab: &'a mut [u8],
    pub count: usize,
    /// Bytes of the slab in use: JavaScript may keep views of them.
    pub used: usize,
}

impl EventBatch<'_> {
    /// Whether there is room for fewer than the three records that a stream may need at once.
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
        let mut batch = EventBatch {
            records: &mut records,
            slab: &mut slab,
            count: 0,
            used: 2,
        };
        batch.put(b"abc");
        batch.push(Kind::Data, [7, 2, 3]);
        batch.push(Kind::End, [7, 1, 0]);
        assert_eq!((batch.count, batch.used, batch.room()), (2, 5, 3));
        assert_eq!(records[..8], [2, 7, 2, 3, 3, 7, 1, 0]);
        assert_eq!(&slab, b"\0\0abc\0\0\0");
    }
}
