//! Keying material of a session's TLS connection (RFC 8446 §7.5): both ends compute the same, and a proxy between two
//! connections cannot.

use super::Endpoint;
use crate::bridge::handle::Session;

/// The exporter label of WebTransport (draft-ietf-webtrans-http3 §4.8); the application's label is part of the context.
const WEB_TRANSPORT_LABEL: &[u8] = b"EXPORTER-WebTransport";

/// Maximum output of HKDF with SHA-256, in bytes.
const MAX_LENGTH: usize = 255 * 32;

/// TLS prepends "tls13 " and stores the length of both in one byte.
const MAX_LABEL: usize = 255 - 6;

impl Endpoint {
    /// Returns None before the handshake is complete, after the session has ended, and for an invalid label, context or
    /// length.
    pub fn export_keying_material(
        &mut self,
        session: Session,
        label: &[u8],
        context: &[u8],
        length: usize,
    ) -> Option<Vec<u8>> {
        if length == 0 || length > MAX_LENGTH {
            return None;
        }
        let within = match session {
            Session::Quic(_) => None,
            Session::WebTransport(handle) => {
                let id = self.sessions.get(handle)?.id?;
                Some(web_transport_context(id, label, context)?)
            }
        };
        let connection = self.connection_of(session)?;
        let (label, context) = within
            .as_ref()
            .map_or((label, context), |within| (WEB_TRANSPORT_LABEL, within.as_slice()));
        if label.len() > MAX_LABEL {
            return None;
        }
        let mut output = vec![0; length];
        let crypto = connection.proto.crypto_session();
        crypto.export_keying_material(&mut output, label, context).ok()?;
        Some(output)
    }
}

/// session id (u64) | label length (u8) | label | context length (u8) | context
fn web_transport_context(session: u64, label: &[u8], context: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = session.to_be_bytes().to_vec();
    for part in [label, context] {
        bytes.push(u8::try_from(part.len()).ok()?);
        bytes.extend_from_slice(part);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::web_transport_context;

    #[test]
    fn a_web_transport_context_names_the_session_the_label_and_the_context() {
        let bytes = web_transport_context(0x0104, b"ab", b"c").unwrap();
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 1, 4, 2, b'a', b'b', 1, b'c']);
        assert_eq!(web_transport_context(0, &[0; 256], b""), None);
    }
}
