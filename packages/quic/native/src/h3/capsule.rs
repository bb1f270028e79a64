//! Capsules (RFC 9297 §3.2) on a session's stream: `type (varint) | length (varint) | value`, spread over DATA frames as
//! the peer likes.

use super::limits::REASON_BYTES;
use super::varint::Partial;
use super::{codes, frames};

const CLOSE: u64 = 0x2843;
const DRAIN: u64 = 0x78ae;

/// A DATA frame with CLOSE_WEBTRANSPORT_SESSION: `code (32 bits) | reason (UTF-8)`.
pub fn close(code: u32, reason: &[u8]) -> Vec<u8> {
    let mut value = code.to_be_bytes().to_vec();
    value.extend_from_slice(reason);
    encode(CLOSE, &value)
}

/// A DATA frame with DRAIN_WEBTRANSPORT_SESSION.
pub fn drain() -> Vec<u8> {
    encode(DRAIN, &[])
}

pub(super) fn encode(kind: u64, value: &[u8]) -> Vec<u8> {
    frames::encode(frames::DATA, &frames::encode(kind, value))
}

#[derive(Debug, PartialEq, Eq)]
pub enum Capsule {
    Close { code: u32, reason: String },
    Drain,
}

#[derive(Debug)]
enum State {
    Kind,
    Length(u64),
    Close { left: usize, value: Vec<u8> },
    Skipping { left: u64, then: Option<Capsule> },
}

#[derive(Debug)]
pub struct CapsuleReader {
    integer: Partial,
    state: State,
}

impl Default for CapsuleReader {
    fn default() -> Self {
        CapsuleReader {
            integer: Partial::default(),
            state: State::Kind,
        }
    }
}

impl CapsuleReader {
    pub fn at_boundary(&self) -> bool {
        matches!(self.state, State::Kind) && self.integer.is_empty()
    }

    /// The next known capsule, or nothing when `input` is used up.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Capsule>, u64> {
        loop {
            match &mut self.state {
                State::Kind => match self.integer.take(input) {
                    Some(kind) => self.state = State::Length(kind),
                    None => return Ok(None),
                },
                State::Length(kind) => {
                    let kind = *kind;
                    let Some(length) = self.integer.take(input) else {
                        return Ok(None);
                    };
                    self.state = match kind {
                        CLOSE if !(4..=4 + REASON_BYTES as u64).contains(&length) => return Err(codes::MESSAGE_ERROR),
                        CLOSE => State::Close {
                            left: length as usize,
                            value: Vec::new(),
                        },
                        _ => State::Skipping {
                            left: length,
                            then: (kind == DRAIN).then_some(Capsule::Drain),
                        },
                    };
                }
                State::Close { left, value } => {
                    let (part, rest) = input.split_at(input.len().min(*left));
                    *input = rest;
                    value.extend_from_slice(part);
                    *left -= part.len();
                    if *left > 0 {
                        return Ok(None);
                    }
                    let capsule = parse_close(value);
                    self.state = State::Kind;
                    return Ok(capsule);
                }
                State::Skipping { left, then } => {
                    let part = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                    *input = &input[part..];
                    *left -= part as u64;
                    if *left > 0 {
                        return Ok(None);
                    }
                    let then = then.take();
                    self.state = State::Kind;
                    if then.is_some() {
                        return Ok(then);
                    }
                }
            }
        }
    }
}

fn parse_close(value: &[u8]) -> Option<Capsule> {
    let (code, reason) = value.split_first_chunk::<4>()?;
    Some(Capsule::Close {
        code: u32::from_be_bytes(*code),
        reason: String::from_utf8_lossy(reason).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::varint;
    use super::*;

    /// Past the DATA frame's type and length.
    fn value(frame: &[u8]) -> &[u8] {
        let mut rest = frame;
        varint::take(&mut rest).unwrap();
        varint::take(&mut rest).unwrap();
        rest
    }

    fn read(reader: &mut CapsuleReader, mut input: &[u8]) -> Vec<Capsule> {
        let mut capsules = Vec::new();
        while let Some(capsule) = reader.next(&mut input).unwrap() {
            capsules.push(capsule);
        }
        capsules
    }

    #[test]
    fn known_capsules_in_one_piece_and_byte_by_byte_unknown_ones_ignored() {
        let mut wire = value(&encode(0x1234, b"whatever")).to_vec();
        wire.extend(value(&drain()));
        wire.extend(value(&encode(0x17, b"")));
        wire.extend(value(&close(7, "bye ✓".as_bytes())));
        let expected = [
            Capsule::Drain,
            Capsule::Close {
                code: 7,
                reason: "bye ✓".to_owned(),
            },
        ];
        assert_eq!(read(&mut CapsuleReader::default(), &wire), expected);
        let mut reader = CapsuleReader::default();
        let bytewise: Vec<_> = wire.iter().flat_map(|byte| read(&mut reader, &[*byte])).collect();
        assert_eq!(bytewise, expected);
        assert!(reader.at_boundary());
    }

    #[test]
    fn a_close_of_an_impossible_length_is_an_error_before_its_bytes_arrive() {
        for length in [0, 3, 4 + REASON_BYTES as u64 + 1, (1 << 62) - 1] {
            let mut wire = Vec::new();
            varint::put(CLOSE, &mut wire);
            varint::put(length, &mut wire);
            assert_eq!(CapsuleReader::default().next(&mut &wire[..]), Err(codes::MESSAGE_ERROR));
        }
    }
}
