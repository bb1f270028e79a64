//! Requests: the extended CONNECT that requests a session (RFC 9220, draft §3.2), and the response to any other.

use super::fields::{Fields, find, headers_frame, split, with_status};
use super::plain::PlainRequest;
use super::qpack::Undecodable;
use super::{codes, frames, protocols, qpack};

/// A client's request for a WebTransport session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub authority: String,
    pub path: String,
    /// Subprotocols in the client's order of preference.
    pub protocols: Vec<String>,
    /// Every other field, including `origin`.
    pub fields: Fields,
}

/// A server's decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Session(Request),
    Plain(PlainRequest),
    /// A whole response.
    Answer(Vec<u8>),
    /// The request is malformed: its stream is reset with this code.
    Malformed(u64),
}

/// Field sent by clients of draft-02.
const DRAFT02: &str = "sec-webtransport-http3-draft02";
const PAGE: &[u8] = b"This port speaks WebTransport over HTTP/3; there are no pages here.\n";

/// Decides about a request by its field section; `plain` says whether requests of plain HTTP are accepted.
pub fn judge(section: &[u8], plain: bool) -> Result<Verdict, u64> {
    let fields = match qpack::decode(section) {
        Ok(fields) => fields,
        // Request Header Fields Too Large (RFC 6585 §5).
        Err(Undecodable::TooLarge) => return Ok(Verdict::Answer(headers_frame(&with_status(431, &[])))),
        Err(Undecodable::Malformed) => return Err(codes::QPACK_DECOMPRESSION_FAILED),
    };
    let malformed = Ok(Verdict::Malformed(codes::MESSAGE_ERROR));
    let Some((pseudo, fields)) = split(fields) else {
        return malformed;
    };
    let known = |(name, _): &(String, String)| {
        matches!(
            name.as_str(),
            ":method" | ":scheme" | ":path" | ":authority" | ":protocol"
        )
    };
    let Some(method) = find(&pseudo, ":method").filter(|_| pseudo.iter().all(known)) else {
        return malformed;
    };
    let (scheme, path) = (find(&pseudo, ":scheme"), find(&pseudo, ":path"));
    let authority = find(&pseudo, ":authority").or_else(|| find(&fields, "host"));
    if method != "CONNECT" && plain {
        return PlainRequest::of(&pseudo, fields).map_or(malformed, |request| Ok(Verdict::Plain(request)));
    }
    if method != "CONNECT" {
        return match (scheme, path) {
            (Some(_), Some(path)) if !path.is_empty() => Ok(Verdict::Answer(page(method))),
            _ => malformed,
        };
    }
    match (find(&pseudo, ":protocol"), scheme, path, authority) {
        (Some("webtransport" | "webtransport-h3"), Some("https"), Some(path), Some(authority))
            if path.starts_with('/') && !authority.is_empty() =>
        {
            Ok(Verdict::Session(Request {
                authority: authority.to_owned(),
                path: path.to_owned(),
                protocols: find(&fields, protocols::AVAILABLE).map_or_else(Vec::new, protocols::parse_list),
                fields: fields
                    .into_iter()
                    .filter(|(name, _)| name != protocols::AVAILABLE)
                    .collect(),
            }))
        }
        (Some("webtransport" | "webtransport-h3"), ..) => malformed,
        // A tunnel, or an unsupported protocol (RFC 9220 §3).
        _ => Ok(Verdict::Answer(headers_frame(&with_status(501, &[])))),
    }
}

fn page(method: &str) -> Vec<u8> {
    let mut fields = with_status(404, &[]);
    fields.push(("content-type".to_owned(), "text/plain".to_owned()));
    fields.push(("content-length".to_owned(), PAGE.len().to_string()));
    let mut answer = headers_frame(&fields);
    if method != "HEAD" {
        answer.extend(frames::encode(frames::DATA, PAGE));
    }
    answer
}

impl Request {
    /// Whether a browser of draft-02 made the request, as Chromium does.
    pub fn is_of_page(&self) -> bool {
        find(&self.fields, DRAFT02).is_some() && find(&self.fields, "origin").is_some()
    }

    /// Encodes the request; `recent`: in the form of draft-15 and later.
    pub fn encode(&self, recent: bool) -> Vec<u8> {
        let pseudo = [
            (":method", "CONNECT"),
            (":protocol", if recent { "webtransport-h3" } else { "webtransport" }),
            (":scheme", "https"),
            (":authority", &self.authority),
            (":path", &self.path),
            // Servers of draft-02 require it.
            (DRAFT02, "1"),
        ];
        let mut fields: Fields = pseudo.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        fields.extend_from_slice(&self.fields);
        if !self.protocols.is_empty() {
            fields.push((protocols::AVAILABLE.to_owned(), protocols::encode_list(&self.protocols)));
        }
        headers_frame(&fields)
    }
}
