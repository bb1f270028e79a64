//! Variable-length integers (RFC 9000 §16).

/// Reads one integer from the front of `input`, or returns None if it is incomplete.
pub fn take(input: &mut &[u8]) -> Option<u64> {
    let length = 1 << (input.first()? >> 6);
    let (bytes, rest) = input.split_at_checked(length)?;
    *input = rest;
    let first = u64::from(bytes[0] & 0x3f);
    Some(
        bytes[1..]
            .iter()
            .fold(first, |value, &byte| value << 8 | u64::from(byte)),
    )
}

/// Values above 2^62-1 do not occur: they are stream ids, lengths and constants.
pub fn put(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend(((value as u16) | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend(((value as u32) | 0x8000_0000).to_be_bytes()),
        _ => out.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// An integer that arrives in pieces.
#[derive(Debug, Default)]
pub struct Partial {
    bytes: [u8; 8],
    length: usize,
}

impl Partial {
    /// Takes the integer's bytes from `input`. After `Some` it is ready for the next one.
    pub fn take(&mut self, input: &mut &[u8]) -> Option<u64> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes[self.length] = byte;
            self.length += 1;
            if let Some(value) = take(&mut &self.bytes[..self.length]) {
                self.length = 0;
                return Some(value);
            }
        }
        None
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_rfc_9000_appendix_a1() {
        for (mut bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            assert_eq!(take(&mut bytes), Some(value));
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn written_integers_are_read_back_in_any_pieces() {
        for value in [0, 63, 64, 16_383, 16_384, 0x3fff_ffff, 0x4000_0000, (1 << 62) - 1] {
            let mut out = Vec::new();
            put(value, &mut out);
            let mut partial = Partial::default();
            let (last, first) = out.split_last().unwrap();
            for byte in first {
                assert_eq!(partial.take(&mut &[*byte][..]), None);
            }
            assert_eq!(partial.take(&mut &[*last, 9][..]), Some(value));
            assert!(partial.is_empty());
        }
    }
}
