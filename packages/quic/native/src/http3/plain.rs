//! Requests of plain HTTP and their responses (RFC 9114 §4): heads, and the frames of the bodies after them.

use super::fields::{Fields, find, headers_frame, response, split, with_status};
use super::frames::{self, FrameReader, Piece};
use super::qpack::{self, Undecodable};
use super::{codes, limits, varint};

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
            && (authority.is_none() || host.is_none() || authority == host);
        let length = announced_length(&fields)?;
        let authority = authority.or(host).unwrap_or_default().to_owned();
        well_formed.then(|| PlainRequest {
            method: method.to_owned(),
            authority,
            path: path.to_owned(),
            fields,
            length,
        })
    }

    /// Makes the HEADERS frame of a client's request.
    pub fn encode(&self) -> Vec<u8> {
        let pseudo = [
            (":method", self.method.as_str()),
            (":scheme", "https"),
            (":authority", &self.authority),
            (":path", &self.path),
        ];
        let mut fields: Fields = pseudo.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        fields.extend_from_slice(&self.fields);
        headers_frame(&fields)
    }
}

/// Whether the text is a valid method (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The content length that a request's fields announce, if any. Returns None if they are malformed (RFC 9114 §4.2).
pub fn announced_length(fields: &Fields) -> Option<Option<u64>> {
    let sound = fields.iter().all(|(name, value)| name != "te" || value == "trailers");
    length_of(fields).filter(|_| sound)
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

/// A violation in the frames of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The message is malformed: its stream must be reset.
    Message(u64),
    /// The connection must be closed.
    Connection(u64, &'static str),
}

const MALFORMED: Fault = Fault::Message(codes::MESSAGE_ERROR);

/// Part of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Status and fields of a response.
    Head(u16, Fields),
    Data(&'a [u8]),
}

/// Reads the frames of a message: body and trailers of a request, whose head was read before, or a whole response.
#[derive(Debug)]
pub struct Message {
    reader: FrameReader,
    /// Whether the head of a response has not arrived yet.
    awaits_head: bool,
    /// Interim responses that may still arrive.
    interim: u32,
    /// Announced bytes that have not arrived yet.
    left: Option<u64>,
    trailers: Option<Fields>,
}

impl Message {
    /// Makes a reader of a request with this content length.
    pub fn request(length: Option<u64>) -> Self {
        Message {
            reader: FrameReader::default(),
            awaits_head: false,
            interim: limits::INTERIM_RESPONSES,
            left: length,
            trailers: None,
        }
    }

    /// Makes a reader of the response to a request with this method.
    pub fn response(method: &str) -> Self {
        Message {
            awaits_head: true,
            ..Message::request((method == "HEAD").then_some(0))
        }
    }

    /// Returns the next part, or None when `input` is used up.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        loop {
            let piece = self.reader.next(input);
            match piece.map_err(|code| Fault::Connection(code, "a frame that is not allowed on a request"))? {
                None => return Ok(None),
                Some(Piece::Frame(frames::HEADERS, section)) if self.awaits_head => {
                    if let Some((status, fields)) = self.head(&section)? {
                        return Ok(Some(Part::Head(status, fields)));
                    }
                }
                Some(Piece::Data(data)) if !self.awaits_head && self.trailers.is_none() => {
                    if let Some(left) = &mut self.left {
                        *left = left.checked_sub(data.len() as u64).ok_or(MALFORMED)?;
                    }
                    return Ok(Some(Part::Data(data)));
                }
                Some(Piece::Frame(frames::HEADERS, section)) if self.trailers.is_none() => {
                    // Trailers have no pseudo-header fields (RFC 9114 §4.3).
                    let trailers = split(decode(&section)?).filter(|(pseudo, _)| pseudo.is_empty());
                    self.trailers = Some(trailers.ok_or(MALFORMED)?.1);
                }
                Some(Piece::Unknown) => {}
                Some(_) => {
                    let why = "a frame that does not belong there in a message";
                    return Err(Fault::Connection(codes::FRAME_UNEXPECTED, why));
                }
            }
        }
    }

    /// Reads the head of a response. Returns None for an interim response (RFC 9110 §15.2).
    fn head(&mut self, section: &[u8]) -> Result<Option<(u16, Fields)>, Fault> {
        // HTTP/3 has no Switching Protocols (RFC 9114 §4.5).
        let head = response(decode(section)?).filter(|(status, _)| *status != 101);
        let (status, fields) = head.ok_or(MALFORMED)?;
        if status < 200 {
            let left = self.interim.checked_sub(1);
            self.interim = left.ok_or(Fault::Message(codes::EXCESSIVE_LOAD))?;
            return Ok(None);
        }
        let length = length_of(&fields).ok_or(MALFORMED)?;
        // These have no body, whatever length they announce (RFC 9110 §6.4.1).
        let bodiless = self.left.is_some() || matches!(status, 204 | 304);
        self.left = if bodiless { Some(0) } else { length };
        self.awaits_head = false;
        Ok(Some((status, fields)))
    }

    /// Handles the peer's FIN. Returns the trailers; empty if there are none.
    pub fn finish(&mut self) -> Result<Fields, Fault> {
        if !self.reader.at_boundary() {
            let why = "a stream that ends within a frame";
            return Err(Fault::Connection(codes::FRAME_ERROR, why));
        }
        if self.awaits_head || self.left.is_some_and(|left| left > 0) {
            return Err(MALFORMED);
        }
        Ok(self.trailers.take().unwrap_or_default())
    }
}

fn decode(section: &[u8]) -> Result<Fields, Fault> {
    qpack::decode(section).map_err(|error| match error {
        Undecodable::TooLarge => Fault::Message(codes::EXCESSIVE_LOAD),
        Undecodable::Malformed => {
            let why = "a field section that cannot be decoded";
            Fault::Connection(codes::QPACK_DECOMPRESSION_FAILED, why)
        }
    })
}
