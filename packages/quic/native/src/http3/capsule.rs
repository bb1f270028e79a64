//! Capsules (RFC 9297 §3.2) on a session's stream: `type (varint) | length (varint) | value`, in DATA frames of any
//! sizes.

use super::credit::{Credit, MOST_STREAMS};
use super::limits::REASON_BYTES;
use super::varint::{self, Partial};
use super::{codes, frames};

const CLOSE: u64 = 0x2843;
const DRAIN: u64 = 0x78ae;
const MAX_DATA: u64 = 0x190b_4d3d;
const MAX_STREAM_DATA: u64 = 0x190b_4d3e;
/// Bidirectional, unidirectional.
const MAX_STREAMS: [u64; 2] = [0x190b_4d3f, 0x190b_4d40];
const DATA_BLOCKED: u64 = 0x190b_4d41;
const STREAM_DATA_BLOCKED: u64 = 0x190b_4d42;
const STREAMS_BLOCKED: [u64; 2] = [0x190b_4d43, 0x190b_4d44];
/// Maximum length of an integer.
const INTEGER_BYTES: u64 = 8;

/// Makes a DATA frame with CLOSE_WEBTRANSPORT_SESSION: `code (32 bits) | reason (UTF-8)`.
pub fn close(code: u32, reason: &[u8]) -> Vec<u8> {
    let mut value = code.to_be_bytes().to_vec();
    value.extend_from_slice(reason);
    encode(CLOSE, &value)
}

/// Makes a DATA frame with DRAIN_WEBTRANSPORT_SESSION.
pub fn drain() -> Vec<u8> {
    encode(DRAIN, &[])
}

/// Makes WT_MAX_STREAMS of both directions and WT_MAX_DATA, each in a DATA frame of its own: Safari 26 reads only the
/// first capsule of a frame.
pub fn grant(credit: Credit) -> Vec<u8> {
    let [bidirectional, unidirectional] = MAX_STREAMS;
    [
        integer(bidirectional, credit.streams[0]),
        integer(unidirectional, credit.streams[1]),
        integer(MAX_DATA, credit.data),
    ]
    .concat()
}

/// Makes a DATA frame with WT_DATA_BLOCKED.
pub fn data_blocked(limit: u64) -> Vec<u8> {
    integer(DATA_BLOCKED, limit)
}

/// Makes a DATA frame with WT_STREAMS_BLOCKED.
pub fn streams_blocked(unidirectional: bool, limit: u64) -> Vec<u8> {
    integer(STREAMS_BLOCKED[usize::from(unidirectional)], limit)
}

fn integer(kind: u64, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(value, &mut bytes);
    encode(kind, &bytes)
}

pub(super) fn encode(kind: u64, value: &[u8]) -> Vec<u8> {
    frames::encode(frames::DATA, &frames::encode(kind, value))
}

#[derive(Debug, PartialEq, Eq)]
pub enum Capsule {
    Close {
        code: u32,
        reason: String,
    },
    Drain,
    MaxData(u64),
    /// Direction (0: bidirectional, 1: unidirectional) and limit.
    MaxStreams(usize, u64),
    /// The peer is blocked by a limit. Ignored: this side's limits have room for any session.
    Blocked,
}

#[derive(Debug)]
enum State {
    Kind,
    Length(u64),
    Value { kind: u64, left: usize, value: Vec<u8> },
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

    /// Returns the next known capsule, or None when `input` is used up.
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
                        // QUIC's own limits of streams hold (draft §5.4).
                        MAX_STREAM_DATA | STREAM_DATA_BLOCKED => return Err(codes::MESSAGE_ERROR),
                        _ if is_integer(kind) && !(1..=INTEGER_BYTES).contains(&length) => {
                            return Err(codes::MESSAGE_ERROR);
                        }
                        _ if kind == CLOSE || is_integer(kind) => State::Value {
                            kind,
                            left: length as usize,
                            value: Vec::new(),
                        },
                        _ => State::Skipping {
                            left: length,
                            then: (kind == DRAIN).then_some(Capsule::Drain),
                        },
                    };
                }
                State::Value { kind, left, value } => {
                    let (part, rest) = input.split_at(input.len().min(*left));
                    *input = rest;
                    value.extend_from_slice(part);
                    *left -= part.len();
                    if *left > 0 {
                        return Ok(None);
                    }
                    let capsule = if *kind == CLOSE {
                        parse_close(value)
                    } else {
                        Some(parse_integer(*kind, value)?)
                    };
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

fn is_integer(kind: u64) -> bool {
    matches!(kind, MAX_DATA | DATA_BLOCKED) || MAX_STREAMS.contains(&kind) || STREAMS_BLOCKED.contains(&kind)
}

fn parse_integer(kind: u64, mut value: &[u8]) -> Result<Capsule, u64> {
    let number = varint::take(&mut value).filter(|_| value.is_empty());
    let number = number.ok_or(codes::MESSAGE_ERROR)?;
    let counts_streams = !matches!(kind, MAX_DATA | DATA_BLOCKED);
    if counts_streams && number > MOST_STREAMS {
        return Err(codes::WT_FLOW_CONTROL_ERROR);
    }
    Ok(match MAX_STREAMS.iter().position(|&of| of == kind) {
        Some(direction) => Capsule::MaxStreams(direction, number),
        None if kind == MAX_DATA => Capsule::MaxData(number),
        None => Capsule::Blocked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Skips the DATA frame's type and length.
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
