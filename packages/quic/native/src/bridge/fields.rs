//! Several byte strings in one argument, each preceded by its length in four bytes, little-endian. Mirrors `packFields`
//! in `src/native.ts`.

pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub fn new(wire: &'a [u8]) -> Self {
        Fields(wire)
    }

    /// Returns the next string; empty at the end.
    pub fn take(&mut self) -> &'a [u8] {
        let Some((length, rest)) = self.0.split_first_chunk::<4>() else {
            self.0 = &[];
            return &[];
        };
        let length = u32::from_le_bytes(*length) as usize;
        let (field, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        field
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_in_order_and_a_cut_off_one_ends_early() {
        let mut fields = Fields::new(b"\x02\0\0\0ab\0\0\0\0\x09\0\0\0xyz");
        assert_eq!(fields.take(), b"ab");
        assert_eq!(fields.take(), b"");
        assert!(!fields.is_empty());
        assert_eq!(fields.take(), b"xyz");
        assert!(fields.is_empty());
        assert_eq!(fields.take(), b"");
    }
}
