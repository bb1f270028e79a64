//! Field sections (RFC 9114 §4.2 and §4.3): order and repeated fields are preserved.

use super::{frames, qpack};

pub type Fields = Vec<(String, String)>;

pub fn headers_frame(fields: &Fields) -> Vec<u8> {
    frames::encode(frames::HEADERS, &qpack::encode(fields))
}

/// Splits a message into pseudo-header fields and others. Returns None if it is malformed: a pseudo-header field is
/// repeated or follows other fields, a name has upper-case letters, or a field is connection-specific.
pub fn split(fields: Fields) -> Option<(Fields, Fields)> {
    let (mut pseudo, mut regular): (Fields, Fields) = Default::default();
    for (name, value) in fields {
        if name.starts_with(':') {
            if !regular.is_empty() || pseudo.iter().any(|(other, _)| *other == name) {
                return None;
            }
            pseudo.push((name, value));
        } else {
            if !acceptable(&name, &value) {
                return None;
            }
            regular.push((name, value));
        }
    }
    Some((pseudo, regular))
}

fn acceptable(name: &str, value: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && byte != b':';
    !name.is_empty()
        && name.bytes().all(token)
        && !matches!(
            name,
            "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade"
        )
        && !value.contains(['\0', '\r', '\n'])
}

pub fn find<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.as_str())
}

/// Returns the status of a response (RFC 9114 §4.3.2) and its other fields.
pub fn response(fields: Fields) -> Option<(u16, Fields)> {
    let (pseudo, regular) = split(fields)?;
    match &pseudo[..] {
        [(name, status)] if name == ":status" && status.len() == 3 => {
            let status = status.parse().ok()?;
            (100..=599).contains(&status).then_some((status, regular))
        }
        _ => None,
    }
}

pub fn with_status(status: u16, fields: &[(String, String)]) -> Fields {
    let mut all = vec![(":status".to_owned(), status.to_string())];
    all.extend_from_slice(fields);
    all
}
