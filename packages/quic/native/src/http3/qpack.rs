//! QPACK (RFC 9204) without a dynamic table: each field section is independent of the others.

use httlib_huffman::DecoderSpeed;

use super::fields::Fields;
use super::limits::FIELD_BYTES;
use super::static_table::STATIC_TABLE;

/// Encodes literal fields with literal names, without Huffman coding: a few bytes more, once per session.
pub fn encode(fields: &Fields) -> Vec<u8> {
    // Required Insert Count 0, Base 0.
    let mut out = vec![0, 0];
    for (name, value) in fields {
        integer(0b0010_0000, 3, name.len(), &mut out);
        out.extend_from_slice(name.as_bytes());
        integer(0, 7, value.len(), &mut out);
        out.extend_from_slice(value.as_bytes());
    }
    out
}

/// Reason why a section was not decoded.
#[derive(Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// Not a well-formed section of static and literal fields in UTF-8.
    Malformed,
    /// Its fields take more than `FIELD_BYTES`.
    TooLarge,
}

/// Overhead charged for a field in addition to its name and value (RFC 9114 §4.2.2).
const FIELD_OVERHEAD: usize = 32;

pub fn decode(section: &[u8]) -> Result<Fields, Undecodable> {
    let mut fields = Vec::new();
    let mut room = FIELD_BYTES;
    let whole = read(section, |(name, value)| {
        let left = room.checked_sub(name.len() + value.len() + FIELD_OVERHEAD);
        if let Some(left) = left {
            room = left;
            fields.push((name, value));
        }
        left.is_some()
    });
    match whole {
        Some(true) => Ok(fields),
        Some(false) => Err(Undecodable::TooLarge),
        None => Err(Undecodable::Malformed),
    }
}

/// Passes each field to the callback until it refuses one; then returns false.
fn read(section: &[u8], mut each: impl FnMut((String, String)) -> bool) -> Option<bool> {
    let mut input = section;
    let required_insert_count = prefixed(&mut input, 8)?;
    let _base = prefixed(&mut input, 7)?;
    if required_insert_count != 0 {
        return None;
    }
    while let Some(&first) = input.first() {
        let field = match first {
            // 1 T index(6): T set means static.
            0xc0.. => {
                let (name, value) = STATIC_TABLE.get(prefixed(&mut input, 6)?)?;
                ((*name).to_owned(), (*value).to_owned())
            }
            // 01 N T index(4) value
            0x40..=0x7f if first & 0x10 != 0 => {
                let (name, _) = STATIC_TABLE.get(prefixed(&mut input, 4)?)?;
                ((*name).to_owned(), string(&mut input, 7)?)
            }
            // 001 N H name(3) value
            0x20..=0x3f => (string(&mut input, 3)?, string(&mut input, 7)?),
            // References to a dynamic table that does not exist.
            _ => return None,
        };
        if !each(field) {
            return Some(false);
        }
    }
    Some(true)
}

/// Reads an integer with an N-bit prefix (RFC 7541 §5.1), at most 2^28: no section here is larger.
fn prefixed(input: &mut &[u8], bits: u32) -> Option<usize> {
    let (&first, rest) = input.split_first()?;
    *input = rest;
    let mask = (1usize << bits) - 1;
    let mut value = usize::from(first) & mask;
    if value < mask {
        return Some(value);
    }
    for shift in [0, 7, 14, 21] {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn integer(flags: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let mask = (1usize << bits) - 1;
    if value < mask {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads a string whose length has an N-bit prefix; the bit above it marks Huffman coding.
fn string(input: &mut &[u8], bits: u32) -> Option<String> {
    let huffman = input.first()? >> bits & 1 == 1;
    let length = prefixed(input, bits)?;
    let (bytes, rest) = input.split_at_checked(length)?;
    *input = rest;
    if !huffman {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let mut text = Vec::with_capacity(length * 2);
    httlib_huffman::decode(bytes, &mut text, DecoderSpeed::FourBits).ok()?;
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn the_example_of_rfc_9204_appendix_b1() {
        let wire = [&[0x00, 0x00, 0x51, 0x0b][..], b"/index.html"].concat();
        assert_eq!(decode(&wire), Ok(owned(&[(":path", "/index.html")])));
    }

    #[test]
    fn static_fields_and_huffman_strings() {
        // Static 15 (:method CONNECT), static 25 (:status 200); "www.example.com" as in RFC 7541 §C.4.1.
        let huffman = [
            0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ];
        let wire = [&[0, 0, 0xcf, 0xd9, 0x50][..], &huffman].concat();
        assert_eq!(
            decode(&wire),
            Ok(owned(&[
                (":method", "CONNECT"),
                (":status", "200"),
                (":authority", "www.example.com")
            ]))
        );
    }

    #[test]
    fn fields_that_take_more_than_their_bytes_on_the_wire_are_counted_as_decoded() {
        // Static 0: ":authority" and nothing, one byte on the wire.
        let each = ":authority".len() + FIELD_OVERHEAD;
        let most = FIELD_BYTES / each;
        let section = |fields: usize| [&[0, 0][..], &vec![0xc0; fields]].concat();
        assert_eq!(decode(&section(most)).map(|fields| fields.len()), Ok(most));
        assert_eq!(decode(&section(most + 1)), Err(Undecodable::TooLarge));
    }

    #[test]
    fn dynamic_references_and_truncated_sections_are_refused() {
        for wire in [
            &[][..],
            &[0],
            &[1, 0],
            &[0, 0, 0x80],
            &[0, 0, 0x10],
            &[0, 0, 0x40, 0],
            &[0, 0, 0x00, 0],
            &[0, 0, 0xff, 0x7f],
            &[0, 0, 0x27, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0, 0, 0x21, b'a', 5, b'b'],
        ] {
            assert_eq!(decode(wire), Err(Undecodable::Malformed), "{wire:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_encoded_is_decoded(fields in proptest::collection::vec(("[a-z-]{0,200}", "\\PC{0,200}"), 0..8)) {
            proptest::prop_assert_eq!(decode(&encode(&fields)), Ok(fields));
        }

        #[test]
        fn no_section_panics(section: Vec<u8>) {
            let _ = decode(&section);
            let _ = decode(&[&[0, 0][..], &section].concat());
        }
    }
}
