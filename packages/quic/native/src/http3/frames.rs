//! HTTP/3 frames (RFC 9114 §7): `type (varint) | length (varint) | payload`, received in pieces of any size.

use super::codes;
use super::limits::FRAME_BYTES;
use super::varint::{self, Partial};

pub const DATA: u64 = 0x0;
pub const HEADERS: u64 = 0x1;
pub const CANCEL_PUSH: u64 = 0x3;
pub const SETTINGS: u64 = 0x4;
pub const PUSH_PROMISE: u64 = 0x5;
pub const GOAWAY: u64 = 0x7;
pub const MAX_PUSH_ID: u64 = 0xd;

pub fn encode(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 10);
    varint::put(kind, &mut out);
    varint::put(payload.len() as u64, &mut out);
    out.extend_from_slice(payload);
    out
}

#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A whole frame of a known type other than DATA.
    Frame(u64, Vec<u8>),
    /// Part of the payload of a DATA frame.
    Data(&'a [u8]),
    /// The beginning of a frame of unknown type; its payload is skipped (RFC 9114 §9).
    Unknown,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Kind,
    Length(u64),
    Buffering {
        kind: u64,
        left: usize,
        payload: Vec<u8>,
    },
    Data {
        left: u64,
    },
    Skipping {
        left: u64,
    },
}

#[derive(Debug, Default)]
pub struct FrameReader {
    integer: Partial,
    state: State,
}

impl FrameReader {
    /// Makes a reader that starts after the first frame's type.
    pub fn after_kind(kind: u64) -> Self {
        FrameReader {
            integer: Partial::default(),
            state: State::Length(kind),
        }
    }

    /// Whether the stream may end here.
    pub fn at_boundary(&self) -> bool {
        match self.state {
            State::Kind => self.integer.is_empty(),
            State::Data { left } | State::Skipping { left } => left == 0,
            _ => false,
        }
    }

    /// Returns the next piece, or None when `input` is used up. Errors are codes for the whole connection.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, u64> {
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
                    if let Some(piece) = self.begin(kind, length)? {
                        return Ok(Some(piece));
                    }
                }
                State::Buffering { kind, left, payload } => {
                    let (part, rest) = input.split_at(input.len().min(*left));
                    *input = rest;
                    payload.extend_from_slice(part);
                    *left -= part.len();
                    if *left > 0 {
                        return Ok(None);
                    }
                    let frame = Piece::Frame(*kind, std::mem::take(payload));
                    self.state = State::Kind;
                    return Ok(Some(frame));
                }
                State::Data { left: 0 } | State::Skipping { left: 0 } => self.state = State::Kind,
                State::Data { left } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    return Ok(Some(Piece::Data(take_up_to(input, left))));
                }
                State::Skipping { left } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    take_up_to(input, left);
                }
            }
        }
    }

    fn begin(&mut self, kind: u64, length: u64) -> Result<Option<Piece<'static>>, u64> {
        match kind {
            DATA => self.state = State::Data { left: length },
            HEADERS | CANCEL_PUSH | SETTINGS | PUSH_PROMISE | GOAWAY | MAX_PUSH_ID => {
                if length > FRAME_BYTES {
                    return Err(codes::EXCESSIVE_LOAD);
                }
                self.state = State::Buffering {
                    kind,
                    left: length as usize,
                    payload: Vec::new(),
                };
            }
            // Frames of HTTP/2 (RFC 9114 §7.2.8).
            0x02 | 0x06 | 0x08 | 0x09 => return Err(codes::FRAME_UNEXPECTED),
            _ => {
                self.state = State::Skipping { left: length };
                return Ok(Some(Piece::Unknown));
            }
        }
        Ok(None)
    }
}

fn take_up_to<'a>(input: &mut &'a [u8], left: &mut u64) -> &'a [u8] {
    let (part, rest) = input.split_at(usize::try_from(*left).unwrap_or(usize::MAX).min(input.len()));
    *input = rest;
    *left -= part.len() as u64;
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut FrameReader, mut input: &[u8]) -> Result<Vec<String>, u64> {
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next(&mut input)? {
            pieces.push(format!("{piece:?}"));
        }
        assert!(input.is_empty());
        Ok(pieces)
    }

    #[test]
    fn frames_in_one_piece_and_byte_by_byte() {
        let mut wire = encode(SETTINGS, b"ab");
        wire.extend(encode(0x21, b"grease"));
        wire.extend(encode(HEADERS, b""));
        wire.extend(encode(DATA, b"xyz"));
        let whole = read(&mut FrameReader::default(), &wire).unwrap();
        assert_eq!(
            whole,
            ["Frame(4, [97, 98])", "Unknown", "Frame(1, [])", "Data([120, 121, 122])"]
        );
        let mut reader = FrameReader::default();
        let mut pieces = Vec::new();
        for byte in &wire {
            pieces.extend(read(&mut reader, &[*byte]).unwrap());
        }
        assert_eq!(pieces[3..], ["Data([120])", "Data([121])", "Data([122])"]);
        assert!(reader.at_boundary());
        assert_eq!(read(&mut reader, &[0x40]).unwrap(), [] as [&str; 0]);
        assert!(!reader.at_boundary());
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_its_bytes_arrive() {
        let mut wire = vec![HEADERS as u8];
        varint::put(FRAME_BYTES + 1, &mut wire);
        assert_eq!(read(&mut FrameReader::default(), &wire), Err(codes::EXCESSIVE_LOAD));
        let mut wire = vec![DATA as u8];
        varint::put((1 << 62) - 1, &mut wire);
        assert_eq!(read(&mut FrameReader::default(), &wire), Ok(vec![]));
    }

    #[test]
    fn frames_of_http2_are_errors() {
        for kind in [2, 6, 8, 9] {
            assert_eq!(
                read(&mut FrameReader::default(), &[kind, 0]),
                Err(codes::FRAME_UNEXPECTED)
            );
        }
    }
}
