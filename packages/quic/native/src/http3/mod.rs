//! The parts of HTTP/3 (RFC 9114) that WebTransport (draft-ietf-webtrans-http3) and requests of plain HTTP need,
//! sans-IO: bytes of streams and datagrams in, actions out. Independent of quinn, sockets and JavaScript.

mod capsule;
pub mod codes;
mod connection;
mod credit;
mod fields;
mod frames;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod fuzz_bytes;
mod held;
#[cfg(test)]
mod mutate;
mod plain;
mod protocols;
mod qpack;
mod request;
mod session;
mod session_end;
mod settings;
mod static_table;
mod streams;
#[cfg(test)]
mod tests;
mod varint;

pub use connection::{Action, End, Http3, Role};
pub use credit::Credit;
pub use fields::Fields;
pub use plain::{Fault, Message, Part, PlainRequest, announced_length, data_header, head, trailers};
pub use request::Request;

/// The ALPN protocol of HTTP/3 (RFC 9114 §3.1).
pub const ALPN: &[u8] = b"h3";

/// Limits on the memory that a peer can make this side use for one connection.
pub mod limits {
    /// Maximum bytes of one buffered frame: HEADERS, SETTINGS, GOAWAY.
    pub const FRAME_BYTES: u64 = 16 * 1024;
    /// Maximum bytes of decoded fields: name, value and 32 more for each (RFC 9114 §4.2.2). Announced as
    /// SETTINGS_MAX_FIELD_SECTION_SIZE.
    pub const FIELD_BYTES: usize = 16 * 1024;
    /// Requests whose HEADERS are still arriving.
    pub const OPENING_REQUESTS: usize = 32;
    /// Unfinished requests of plain HTTP.
    pub const REQUESTS: usize = 128;
    /// Interim responses to one request.
    pub const INTERIM_RESPONSES: u32 = 16;
    /// Streams that arrived before their session.
    pub const HELD_STREAMS: usize = 64;
    /// Bytes of datagrams that arrived before their session.
    pub const HELD_DATAGRAM_BYTES: usize = 16 * 1024;
    /// UTF-8 bytes of a close reason (draft §5).
    pub const REASON_BYTES: usize = 1024;
}
