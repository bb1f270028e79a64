//! Requests of plain HTTP (RFC 9114 §4): the head, and the frames of the body after it.

use super::fields::{Fields, find, headers_frame, split, with_status};
use super::frames::{self, FrameReader, Piece};
use super::qpack::{self, Undecodable};
use super::{codes, varint};

/// A request of plain HTTP, without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainRequest {
    pub method: String,
    pub authority: String,
    /// Path and query, or "*".
    pub path: String,
    /// Every other field.
    pub fields: Fields,
    /// The content length, if the client sent one.
    pub length: Option<u64>,
}

impl PlainRequest {
    /// Makes a request of these fields. Returns None if it is malformed (RFC 9114 §4.1.2 and §4.3.1).
    pub fn of(pseudo: &Fields, fields: Fields) -> Option<Self> {
        let method = find(pseudo, ":method").filter(|method| is_token(method))?;
        let path = find(pseudo, ":path")?;
        let (authority, host) = (find(pseudo, ":authority"), find(&fields, "host"));
        let well_formed = matches!(find(pseudo, ":scheme"), Some("https" | "http"))
            && find(pseudo, ":protocol").is_none()
            && (path.starts_with('/') || (path == "*" && method == "OPTIONS"))
            && path.bytes().all(|byte| byte.is_ascii_graphic())
            && authority.or(host).is_some_and(|name| !name.is_empty())
            && (authority.is_none() || host.is_none() || authority == host)
            && fields.iter().all(|(name, value)| name != "te" || value == "trailers");
        let length = length_of(&fields)?;
        let authority = authority.or(host).unwrap_or_default().to_owned();
        well_formed.then(|| PlainRequest {
            method: method.to_owned(),
            authority,
            path: path.to_owned(),
            fields,
            length,
        })
    }
}

/// Whether the text is a valid method (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The content length that a message announces, if any. Returns None if one is not a number or several differ.
fn length_of(fields: &Fields) -> Option<Option<u64>> {
    let mut length = None;
    for (_, value) in fields.iter().filter(|(name, _)| name == "content-length") {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|_| digits)?;
        if length.is_some_and(|before| before != number) {
            return None;
        }
        length = Some(number);
    }
    Some(length)
}

/// Makes the HEADERS frame of a response.
pub fn head(status: u16, fields: &Fields) -> Vec<u8> {
    headers_frame(&with_status(status, fields))
}

/// Makes the HEADERS frame of a message's trailers.
pub fn trailers(fields: &Fields) -> Vec<u8> {
    headers_frame(fields)
}

/// Makes the header of a DATA frame with a payload of `length` bytes.
pub fn data_header(length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(9);
    varint::put(frames::DATA, &mut out);
    varint::put(length as u64, &mut out);
    out
}

/// A violation in the frames of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is malformed: its stream must be reset.
    Request(u64),
    /// The connection must be closed.
    Connection(u64, &'static str),
}

/// Extracts the body and the trailers from the frames that follow a request's HEADERS.
#[derive(Debug)]
pub struct Body {
    reader: FrameReader,
    /// Announced bytes that have not arrived yet.
    left: Option<u64>,
    trailers: Option<Fields>,
}

impl Body {
    pub fn new(length: Option<u64>) -> Self {
        Body {
            reader: FrameReader::default(),
            left: length,
            trailers: None,
        }
    }

    /// Returns the next bytes of the body, or None when `input` is used up.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Fault> {
        loop {
            let piece = self.reader.next(input);
            match piece.map_err(|code| Fault::Connection(code, "a frame that is not allowed on a request"))? {
                None => return Ok(None),
                Some(Piece::Data(data)) if self.trailers.is_none() => {
                    if let Some(left) = &mut self.left {
                        let rest = left.checked_sub(data.len() as u64);
                        *left = rest.ok_or(Fault::Request(codes::MESSAGE_ERROR))?;
                    }
                    return Ok(Some(data));
                }
                Some(Piece::Frame(frames::HEADERS, section)) if self.trailers.is_none() => {
                    self.trailers = Some(trailing(&section)?);
                }
                Some(Piece::Unknown) => {}
                Some(_) => {
                    let why = "a frame that does not belong behind a request's head";
                    return Err(Fault::Connection(codes::FRAME_UNEXPECTED, why));
                }
            }
        }
    }

    /// Handles the client's FIN. Returns the trailers; empty if there are none.
    pub fn finish(&mut self) -> Result<Fields, Fault> {
        if !self.reader.at_boundary() {
            let why = "a stream that ends within a frame";
            return Err(Fault::Connection(codes::FRAME_ERROR, why));
        }
        match self.left {
            None | Some(0) => Ok(self.trailers.take().unwrap_or_default()),
            Some(_) => Err(Fault::Request(codes::MESSAGE_ERROR)),
        }
    }
}

/// Decodes trailers, which have no pseudo-header fields (RFC 9114 §4.3).
fn trailing(section: &[u8]) -> Result<Fields, Fault> {
    let fields = qpack::decode(section).map_err(|error| match error {
        Undecodable::TooLarge => Fault::Request(codes::EXCESSIVE_LOAD),
        Undecodable::Malformed => {
            let why = "a field section that cannot be decoded";
            Fault::Connection(codes::QPACK_DECOMPRESSION_FAILED, why)
        }
    })?;
    let regular = split(fields).filter(|(pseudo, _)| pseudo.is_empty());
    regular
        .map(|(_, fields)| fields)
        .ok_or(Fault::Request(codes::MESSAGE_ERROR))
}
