//! Failures as data. JavaScript builds its `QuicError` from these fields and does not parse messages.

use std::borrow::Cow;
use std::net::SocketAddr;

use quinn_proto::{ConnectError, ConnectionError};

use crate::http3::End;

/// TLS alert `no_application_protocol` (RFC 7301 §3.2) as a QUIC CRYPTO_ERROR (RFC 9001 §4.8).
const NO_APPLICATION_PROTOCOL: u64 = 0x178;
/// TLS alert `certificate_required` (RFC 8446 §6.2).
const CERTIFICATE_REQUIRED: u64 = 0x174;
/// APPLICATION_ERROR: an application close before the handshake was confirmed (RFC 9000 §10.2.3).
const APPLICATION_ERROR: u64 = 0x0c;
/// CONNECTION_REFUSED (RFC 9000 §20.1).
const CONNECTION_REFUSED: u64 = 0x02;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Session,
    Tls,
    System,
    Usage,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Session => "session",
            Source::Tls => "tls",
            Source::System => "system",
            Source::Usage => "usage",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub source: Source,
    pub code: Cow<'static, str>,
    pub message: String,
    /// The application close code and reason, if either side closed the session with one.
    pub close: Option<(u64, String)>,
    /// The HTTP status with which a server refused a WebTransport session.
    pub status: Option<u16>,
    /// The peer of a connection that failed before it became a session, and so has no session to ask.
    pub remote: Option<SocketAddr>,
}

impl Failure {
    pub fn new(source: Source, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Failure {
            source,
            code: code.into(),
            message: message.into(),
            close: None,
            status: None,
            remote: None,
        }
    }

    pub fn option(message: impl Into<String>) -> Self {
        Failure::new(Source::Usage, "ERR_QUIC_INVALID_OPTION", message)
    }

    pub fn closed(code: u64, reason: String) -> Self {
        let message = format!("the session was closed here with code {code}");
        Failure {
            close: Some((code, reason)),
            ..Failure::new(Source::Session, "ERR_QUIC_CLOSED", message)
        }
    }

    pub fn session_closed() -> Self {
        Failure::new(Source::Session, "ERR_QUIC_CLOSED", "the session has closed")
    }

    pub fn endpoint_closed() -> Self {
        Failure::new(Source::Usage, "ERR_QUIC_CLOSED", "the endpoint has closed")
    }

    /// `doing` completes the message "could not …".
    pub fn system(error: &std::io::Error, doing: &str) -> Self {
        let code = error.raw_os_error().map_or("EIO", errno_name);
        Failure::new(Source::System, code, format!("could not {doing}: {error} [{code}]"))
    }

    pub fn connect(error: &ConnectError, remote: SocketAddr) -> Self {
        match error {
            ConnectError::InvalidServerName(name) => {
                Failure::option(format!("serverName {name:?} is not a valid DNS name"))
            }
            ConnectError::InvalidRemoteAddress(_) => Failure::option(format!("{remote} cannot be connected to")),
            other => Failure::new(
                Source::Session,
                "ERR_QUIC_TRANSPORT",
                format!("could not connect to {remote}: {other}"),
            ),
        }
    }

    /// Error of a WebTransport session that its peer, or a violation of the protocol, ended.
    pub fn session_ended(end: End, remote: SocketAddr) -> Self {
        match end {
            End::Closed { code, reason } => Failure::closed_by_peer(remote, code.into(), reason.as_bytes()),
            End::Rejected { status } => Failure {
                status: Some(status),
                ..Failure::new(
                    Source::Session,
                    "ERR_QUIC_SESSION_REJECTED",
                    format!("{remote} answered the request for a WebTransport session with status {status}"),
                )
            },
            End::Gone { code } => Failure::new(
                Source::Session,
                "ERR_QUIC_SESSION_GONE",
                format!("{remote} dropped the WebTransport session with HTTP/3 code {code:#x}"),
            ),
            End::Unavailable { why } => Failure::new(
                Source::Session,
                "ERR_QUIC_SESSION_UNAVAILABLE",
                format!("no WebTransport session with {remote}: {why}"),
            ),
        }
    }

    /// The server has sent GOAWAY.
    pub fn takes_no_requests(remote: SocketAddr) -> Self {
        Failure::new(
            Source::Session,
            "ERR_QUIC_SESSION_UNAVAILABLE",
            format!("{remote} takes no more requests on this connection (GOAWAY)"),
        )
    }

    /// The peer violated HTTP/3.
    pub fn http3(code: u64, why: &str, remote: SocketAddr) -> Self {
        Failure::new(
            Source::Session,
            "ERR_QUIC_HTTP3",
            format!("the HTTP/3 connection with {remote} was closed with code {code:#x}: {why}"),
        )
    }

    /// Converts the end of a connection into the error of its session; `handshaking` says whether the handshake was
    /// incomplete, `dialled` whether this side dialled.
    pub fn lost(error: &ConnectionError, remote: SocketAddr, handshaking: bool, dialled: bool) -> Self {
        let (source, code, message) = match error {
            // A server sends this before it has the client's last handshake message, and processes nothing before that (RFC 9001 §5.7).
            ConnectionError::ConnectionClosed(close) if dialled && u64::from(close.error_code) == APPLICATION_ERROR => {
                (
                    Source::Session,
                    "ERR_QUIC_REFUSED",
                    format!("{remote} closed the session before it was established"),
                )
            }
            ConnectionError::ApplicationClosed(close) => {
                return Failure::closed_by_peer(remote, close.error_code.into_inner(), &close.reason);
            }
            ConnectionError::TimedOut if handshaking => return Failure::handshake_timeout(remote),
            ConnectionError::TimedOut => (
                Source::Session,
                "ERR_QUIC_IDLE_TIMEOUT",
                format!("nothing arrived from {remote} within the idle timeout"),
            ),
            ConnectionError::ConnectionClosed(close) => {
                return Failure::transport(
                    close.error_code.into(),
                    &String::from_utf8_lossy(&close.reason),
                    remote,
                    true,
                );
            }
            ConnectionError::TransportError(error) => {
                return Failure::transport(error.code.into(), &error.reason, remote, false);
            }
            ConnectionError::Reset => (
                Source::Session,
                "ERR_QUIC_TRANSPORT",
                format!("{remote} no longer knows this session (stateless reset); it has probably restarted"),
            ),
            ConnectionError::VersionMismatch => (
                Source::Session,
                "ERR_QUIC_TRANSPORT",
                format!("{remote} and this endpoint have no QUIC version in common"),
            ),
            ConnectionError::LocallyClosed => return Failure::closed(0, String::new()),
            ConnectionError::CidsExhausted => (
                Source::Session,
                "ERR_QUIC_TRANSPORT",
                "no connection ids are left on this endpoint".to_owned(),
            ),
        };
        Failure::new(source, code, message)
    }

    pub fn handshake_timeout(remote: SocketAddr) -> Self {
        Failure::new(
            Source::Session,
            "ERR_QUIC_HANDSHAKE_TIMEOUT",
            format!("no answer from {remote} over UDP; is the server running and UDP allowed?"),
        )
    }

    pub fn port_unreachable(remote: SocketAddr) -> Self {
        Failure::new(
            Source::System,
            "ECONNREFUSED",
            format!("no process listens on UDP {remote} [ECONNREFUSED]; is the server running?"),
        )
    }

    fn closed_by_peer(remote: SocketAddr, code: u64, reason: &[u8]) -> Self {
        let reason = String::from_utf8_lossy(reason).into_owned();
        let detail = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        let message = format!("{remote} closed the session with code {code}{detail}");
        Failure {
            close: Some((code, reason)),
            ..Failure::new(Source::Session, "ERR_QUIC_CLOSED_BY_PEER", message)
        }
    }

    fn transport(code: u64, reason: &str, remote: SocketAddr, by_peer: bool) -> Self {
        let who = if by_peer {
            format!("{remote} ended the session")
        } else {
            format!("the session with {remote} failed")
        };
        let detail = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        if by_peer && let Some(alert) = certificate_alert(code) {
            let message = format!("{remote} does not accept this side's certificate: {alert}{detail}");
            return Failure::new(Source::Tls, "ERR_QUIC_CERTIFICATE_REJECTED", message);
        }
        match code {
            NO_APPLICATION_PROTOCOL => Failure::new(
                Source::Tls,
                "ERR_QUIC_ALPN_MISMATCH",
                format!("{remote} and this endpoint have no ALPN protocol in common"),
            ),
            APPLICATION_ERROR if by_peer => Failure::new(
                Source::Session,
                "ERR_QUIC_CLOSED_BY_PEER",
                format!("{remote} closed the session during its handshake"),
            ),
            CONNECTION_REFUSED => Failure::new(
                Source::Session,
                "ERR_QUIC_REFUSED",
                format!("{remote} refuses new sessions for now; try again later"),
            ),
            CERTIFICATE_REQUIRED => Failure::new(
                Source::Tls,
                "ERR_QUIC_CERTIFICATE_REQUIRED",
                if by_peer {
                    format!("{remote} requires a client certificate; pass one as tls.cert and tls.key")
                } else {
                    format!("{remote} presented no client certificate, and this endpoint requires one")
                },
            ),
            0x100..=0x1ff => Failure::new(
                Source::Tls,
                "ERR_QUIC_TLS",
                format!("{who} with TLS alert {}{detail}", code & 0xff),
            ),
            _ => Failure::new(
                Source::Session,
                "ERR_QUIC_TRANSPORT",
                format!("{who} with transport error {code:#x}{detail}"),
            ),
        }
    }
}

/// The TLS alerts about certificates (RFC 8446 §6.2), as CRYPTO_ERRORs.
fn certificate_alert(code: u64) -> Option<&'static str> {
    Some(match code {
        0x12a => "bad_certificate",
        0x12b => "unsupported_certificate",
        0x12c => "certificate_revoked",
        0x12d => "certificate_expired",
        0x12e => "certificate_unknown",
        0x130 => "unknown_ca",
        // An invalid signature, for example by another authority of the same name.
        0x133 => "decrypt_error",
        _ => return None,
    })
}

#[cfg(unix)]
fn errno_name(errno: i32) -> &'static str {
    match errno {
        libc::EADDRINUSE => "EADDRINUSE",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::EACCES => "EACCES",
        libc::EPERM => "EPERM",
        libc::EMFILE => "EMFILE",
        libc::ENFILE => "ENFILE",
        libc::ENOBUFS => "ENOBUFS",
        libc::ENOMEM => "ENOMEM",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::EINVAL => "EINVAL",
        _ => "EIO",
    }
}

/// Winsock codes (WSAEACCES and so on).
#[cfg(not(unix))]
fn errno_name(errno: i32) -> &'static str {
    match errno {
        10048 => "EADDRINUSE",
        10049 => "EADDRNOTAVAIL",
        10013 => "EACCES",
        10024 => "EMFILE",
        10055 => "ENOBUFS",
        10047 => "EAFNOSUPPORT",
        10022 => "EINVAL",
        _ => "EIO",
    }
}

#[cfg(test)]
mod tests {
    use quinn_proto::{ConnectionClose, TransportErrorCode};

    use super::*;

    #[test]
    fn a_server_that_closes_before_the_handshake_is_complete_has_served_nothing() {
        let close = ConnectionClose {
            error_code: TransportErrorCode::APPLICATION_ERROR,
            frame_type: None,
            reason: Default::default(),
        };
        let remote = SocketAddr::from(([127, 0, 0, 1], 4433));
        let lost = |dialled| Failure::lost(&ConnectionError::ConnectionClosed(close.clone()), remote, true, dialled);
        assert_eq!(lost(true).code, "ERR_QUIC_REFUSED");
        // A client may have served what its server sent before it closes.
        assert_eq!(lost(false).code, "ERR_QUIC_CLOSED_BY_PEER");
    }
}
