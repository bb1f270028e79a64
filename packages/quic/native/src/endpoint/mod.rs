//! The QUIC connections of one UDP socket. Bytes and time go in; datagrams, records and a deadline come out. Nothing
//! here blocks.

mod admit;
mod calls;
mod close;
mod collect;
mod copies;
mod datagrams;
mod dial;
mod drive;
mod early;
mod exporter;
mod liveness;
pub mod pending;
mod receive;
mod resets;
mod stats;
#[cfg(test)]
mod tests;
mod transmit;
pub mod web;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto as qp;

use crate::bridge::error::Failure;
use crate::bridge::event_batch::QueuedRecord;
use crate::bridge::handle::{Handle, Table};
use crate::bridge::layout::Kind;
use crate::endpoint::web::state::WebSession;
use crate::http3;
use crate::memory::trim::MemoryTrim;
use crate::net::routing::Routing;
use crate::net::socket::Socket;
use crate::quic::config::PerConnection;
use crate::quic::connection::Connection;
use crate::quic::secret::Secret;
use crate::quic::stream::Stream;
use admit::{Admission, Counters, Share};
use copies::Copies;
use dial::Dials;
pub use early::LastProtocol;
use early::Tickets;
use resets::ResetLimit;

/// One UDP socket and its QUIC connections.
pub struct Endpoint {
    pub socket: Socket,
    proto: qp::Endpoint,
    /// Connections, indexed by quinn's connection handle.
    connections: Vec<Option<Box<Connection>>>,
    pub streams: Table<Stream>,
    sessions: Table<WebSession>,
    /// Received datagrams that are not delivered yet, with their session's index.
    datagrams: VecDeque<(u32, Bytes)>,
    queued: VecDeque<QueuedRecord>,
    readable: VecDeque<Handle>,
    /// Readable streams that continue in the next batch.
    held_over: VecDeque<Handle>,
    dirty: Vec<usize>,
    /// Streams that gather the writes of this turn.
    gathering: Vec<Handle>,
    /// One entry for each connection with a deadline: `Connection::scheduled`, at or before that deadline.
    timers: BTreeSet<(Instant, usize)>,
    copies: Copies,
    /// Connections that QUIC has forgotten and whose end is not yet reported to JavaScript. See `reap`.
    drained: Vec<(usize, qp::EndpointEvent)>,
    /// Whether the endpoint is closing: it does not begin anything new.
    closing: bool,
    /// Whether the endpoint is draining: it refuses new connections.
    draining: bool,
    failures: HashMap<u32, Failure>,
    next_failure: u32,
    /// Field sections that JavaScript is about to read, by the index of their stream and whether they are trailers.
    sections: HashMap<(u32, bool), http3::Fields>,
    next_generation: u32,
    admission: Option<Admission>,
    /// Encrypts the tokens that prove a peer's address; kept when TLS options change.
    token_key: Arc<dyn qp::crypto::HandshakeTokenKey>,
    /// Number of admitted sessions of accepted connections that have not ended.
    admitted: usize,
    /// Number of accepted connections, including closing and draining ones.
    held: usize,
    /// Number of live accepted connections without an admitted session.
    handshaking: usize,
    /// Counters of accepted connections by source address.
    by_source: HashMap<IpAddr, Share>,
    counters: Counters,
    resets: ResetLimit,
    memory_trim: MemoryTrim,
    dials: Dials,
    tickets: Tickets,
    scratch: Vec<u8>,
}

impl Endpoint {
    /// `returns_memory` of ended sessions to the system (`MemoryTrim`).
    pub fn new(socket: Socket, secret: &Secret, routing: Option<&Routing>, returns_memory: bool) -> Self {
        let config = Arc::new(secret.endpoint_config(&socket, routing));
        let proto = qp::Endpoint::new(config, None, !socket.may_fragment(), None);
        Endpoint {
            socket,
            proto,
            connections: Vec::new(),
            streams: Table::default(),
            sessions: Table::default(),
            datagrams: VecDeque::new(),
            queued: VecDeque::new(),
            readable: VecDeque::new(),
            held_over: VecDeque::new(),
            dirty: Vec::new(),
            gathering: Vec::new(),
            timers: BTreeSet::new(),
            copies: Copies::default(),
            drained: Vec::new(),
            closing: false,
            draining: false,
            failures: HashMap::new(),
            next_failure: 0,
            sections: HashMap::new(),
            next_generation: 0,
            admission: None,
            token_key: secret.token_key(),
            admitted: 0,
            held: 0,
            by_source: HashMap::new(),
            counters: Counters::default(),
            resets: ResetLimit::default(),
            memory_trim: MemoryTrim::new(returns_memory),
            dials: Dials::default(),
            tickets: Tickets::default(),
            handshaking: 0,
            scratch: Vec::with_capacity(65_536),
        }
    }

    fn adopt(&mut self, ch: qp::ConnectionHandle, proto: qp::Connection, settings: PerConnection) -> &mut Connection {
        let index = ch.0;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.next_generation = (self.next_generation + 1) & 0xfff_ffff;
        let handle = Handle {
            index: index as u32,
            generation: self.next_generation,
        };
        let connection = Box::new(Connection::new(proto, handle, settings));
        let connection = self.connections[index].insert(connection);
        connection.dirty = true;
        self.dirty.push(index);
        connection
    }

    pub fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(handle.index as usize)?.as_mut()?;
        (connection.handle == handle).then_some(connection)
    }

    fn mark(&mut self, index: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(index);
        }
    }

    fn notify(&mut self, kind: Kind, words: [u32; 3]) {
        self.queued.push_back(QueuedRecord {
            kind,
            words,
            stream: None,
        });
    }

    fn notify_stream(&mut self, kind: Kind, stream: Handle, words: [u32; 2]) {
        self.queued.push_back(QueuedRecord {
            kind,
            words: [stream.index, words[0], words[1]],
            stream: Some(stream),
        });
    }

    /// Notifies JavaScript of a stream's end, with a code. The slot stays until the last such record is collected, so
    /// that both sides free it together.
    fn notify_end(&mut self, kind: Kind, stream: Handle, code: u32) {
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.queued_ends += 1;
        }
        self.notify_stream(kind, stream, [0, code]);
    }

    /// Returns the numbers of connections, streams and timers.
    pub fn counts(&self) -> [usize; 3] {
        let connections = self.connections.iter().flatten().count();
        [connections, self.streams.len(), self.timers.len()]
    }
}

/// Converts a wire code to an application code. Codes go up to 2^62-1 on the wire (RFC 9000 §16) but to 2^32-1 in W3C
/// WebTransport. On a WebTransport stream HTTP/3's own codes become 0.
fn application_code(stream: &Stream, code: qp::VarInt) -> u32 {
    let code = code.into_inner();
    if stream.session.is_some() {
        return http3::codes::from_http3(code).unwrap_or(0);
    }
    u32::try_from(code).unwrap_or(u32::MAX)
}

/// Whether `code` says that the stream's session has ended. JavaScript learns of the end and its reason from
/// CLOSE_WEBTRANSPORT_SESSION, which arrives later.
fn session_is_gone(stream: &Stream, code: qp::VarInt) -> bool {
    stream.session.is_some() && http3::codes::ends_session(code.into_inner())
}

/// Converts an application code to its wire code: on a WebTransport stream into HTTP/3's range, by `to_http3`.
fn wire_code(stream: &Stream, code: u32) -> qp::VarInt {
    if stream.session.is_none() {
        return code.into();
    }
    qp::VarInt::from_u64(http3::codes::to_http3(code)).unwrap_or(qp::VarInt::MAX)
}

/// Returns the address, with an IPv4-mapped address of a dual-stack socket as plain IPv4.
pub fn canonical(address: std::net::SocketAddr) -> std::net::SocketAddr {
    std::net::SocketAddr::new(address.ip().to_canonical(), address.port())
}
