//! One UDP socket's connections. Bytes and time go in; datagrams, records and a deadline come out. Nothing here waits.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto as qp;

use crate::config::{PerConnection, Settings};
use crate::connection::{Connection, Phase};
use crate::error::Failure;
use crate::handle::{Handle, Table};
use crate::sink::{Kind, Notice};
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::Verdict;

/// A peer that does not complete its handshake within this time is given up: an idle timeout may be long, or off.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a listening endpoint allows.
struct Admission {
    max_sessions: usize,
    max_handshakes: usize,
    settings: PerConnection,
}

pub struct Endpoint {
    pub socket: Socket,
    pub(crate) proto: qp::Endpoint,
    /// By quinn's connection handle.
    pub(crate) connections: Vec<Option<Box<Connection>>>,
    pub(crate) streams: Table<Stream>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) readable: VecDeque<Handle>,
    /// Readable streams that go on in the next batch.
    pub(crate) held_over: VecDeque<Handle>,
    dirty: Vec<usize>,
    /// One entry for each connection with a deadline: `Connection::scheduled`, at or before that deadline.
    timers: BTreeSet<(Instant, usize)>,
    /// Connections that QUIC has forgotten and whose end JavaScript has yet to hear. See `reap`.
    drained: Vec<(usize, qp::EndpointEvent)>,
    /// Closing: nothing new begins.
    closing: bool,
    failures: HashMap<u32, Failure>,
    next_failure: u32,
    next_generation: u32,
    admission: Option<Admission>,
    accepted: usize,
    handshaking: usize,
    scratch: Vec<u8>,
}

impl Endpoint {
    pub fn new(socket: Socket) -> Self {
        let config = Arc::new(qp::EndpointConfig::default());
        let proto = qp::Endpoint::new(config, None, !socket.may_fragment(), None);
        Endpoint {
            socket,
            proto,
            connections: Vec::new(),
            streams: Table::default(),
            notices: VecDeque::new(),
            readable: VecDeque::new(),
            held_over: VecDeque::new(),
            dirty: Vec::new(),
            timers: BTreeSet::new(),
            drained: Vec::new(),
            closing: false,
            failures: HashMap::new(),
            next_failure: 0,
            next_generation: 0,
            admission: None,
            accepted: 0,
            handshaking: 0,
            scratch: Vec::with_capacity(65_536),
        }
    }

    pub fn listen(&mut self, crypto: Arc<dyn qp::crypto::ServerConfig>, settings: &Settings) -> Result<(), Failure> {
        let mut config = qp::ServerConfig::with_crypto(crypto);
        config.transport_config(settings.transport()?);
        self.proto.set_server_config(Some(Arc::new(config)));
        self.admission = Some(Admission {
            max_sessions: settings.max_sessions as usize,
            max_handshakes: settings.max_handshakes as usize,
            settings: settings.per_connection(),
        });
        Ok(())
    }

    pub fn connect(
        &mut self,
        remote: SocketAddr,
        server_name: &str,
        crypto: Arc<dyn qp::crypto::ClientConfig>,
        verdict: Verdict,
        settings: &Settings,
    ) -> Result<Handle, Failure> {
        if self.closing {
            return Err(Failure::endpoint_closed());
        }
        let reachable = self.socket.reachable(remote).ok_or_else(|| {
            Failure::option(format!(
                "{remote} cannot be reached from this endpoint, which is bound to {}",
                self.socket.address()
            ))
        })?;
        let mut config = qp::ClientConfig::new(crypto);
        config.transport_config(settings.transport()?);
        let (ch, proto) = self
            .proto
            .connect(Instant::now(), config, reachable, server_name)
            .map_err(|error| Failure::connect(&error, remote))?;
        let connection = self.adopt(ch, proto, settings.per_connection());
        connection.verdict = Some(verdict);
        Ok(connection.handle)
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

    pub(crate) fn mark(&mut self, index: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(index);
        }
    }

    pub fn receive(&mut self) {
        let now = Instant::now();
        let mut touched = std::mem::take(&mut self.dirty);
        let mut buffers = Vec::new();
        self.socket.receive(|_, meta, bytes| {
            // One allocation per GRO buffer; its datagrams share it.
            buffers.push((*meta, BytesMut::from(bytes)));
        });
        for (meta, mut bytes) in buffers {
            while !bytes.is_empty() {
                let datagram = bytes.split_to(meta.stride.min(bytes.len()));
                let ecn = meta.ecn.and_then(|ecn| qp::EcnCodepoint::from_bits(ecn as u8));
                self.datagram(now, meta.addr, meta.dst_ip, ecn, datagram);
            }
        }
        touched.append(&mut self.dirty);
        for &index in &touched {
            self.drive(index);
        }
        touched.append(&mut self.dirty);
        self.dirty = touched;
    }

    fn datagram(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<std::net::IpAddr>,
        ecn: Option<qp::EcnCodepoint>,
        datagram: BytesMut,
    ) {
        let mut response = std::mem::take(&mut self.scratch);
        response.clear();
        match self.proto.handle(now, remote, local, ecn, datagram, &mut response) {
            Some(qp::DatagramEvent::ConnectionEvent(ch, event)) => {
                if let Some(Some(connection)) = self.connections.get_mut(ch.0) {
                    connection.proto.handle_event(event);
                }
                self.mark(ch.0);
            }
            Some(qp::DatagramEvent::NewConnection(incoming)) => {
                self.admit(now, incoming, &mut response);
            }
            Some(qp::DatagramEvent::Response(transmit)) => self.socket.send(transmit, &response),
            None => {}
        }
        self.scratch = response;
    }

    /// Over the session limit or with too many handshakes open, the peer is refused (RFC 9000 §20.1,
    /// CONNECTION_REFUSED); from half of the handshake limit on, it must first prove its address (§8.1.2).
    fn admit(&mut self, now: Instant, incoming: qp::Incoming, response: &mut Vec<u8>) {
        let Some(admission) = &self.admission else {
            self.proto.ignore(incoming);
            return;
        };
        let settings = admission.settings;
        if self.accepted >= admission.max_sessions || self.handshaking >= admission.max_handshakes {
            let transmit = self.proto.refuse(incoming, response);
            self.socket.send(transmit, response);
        } else if self.handshaking >= admission.max_handshakes / 2 && incoming.may_retry() {
            if let Ok(transmit) = self.proto.retry(incoming, response) {
                self.socket.send(transmit, response);
            }
        } else {
            match self.proto.accept(incoming, now, response, None) {
                Ok((ch, proto)) => {
                    self.accepted += 1;
                    self.handshaking += 1;
                    self.adopt(ch, proto, settings).give_up = Some(now + ACCEPT_TIMEOUT);
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, response);
                    }
                }
            }
        }
    }

    /// Takes what a connection has to say: endpoint events first, then application events.
    pub(crate) fn drive(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let mut drained = None;
        while let Some(event) = connection.proto.poll_endpoint_events() {
            if event.is_drained() {
                drained = Some(event);
                break;
            }
            if let Some(event) = self.proto.handle_event(qp::ConnectionHandle(index), event) {
                connection.proto.handle_event(event);
            }
        }
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(event) = connection.proto.poll()
        {
            self.event(index, event);
        }
        if let Some(event) = drained {
            self.end(index, None);
            self.drained.push((index, event));
            if !self.has_records() {
                self.reap();
            }
        }
    }

    /// Gives the places of drained connections back, once JavaScript knows that they are gone: a dial could otherwise
    /// take the place of a connection whose end waits to be told, and unread bytes would be lost.
    pub fn reap(&mut self) {
        for (index, event) in std::mem::take(&mut self.drained) {
            self.proto.handle_event(qp::ConnectionHandle(index), event);
            if let Some(connection) = self.connections[index].take()
                && let Some(at) = connection.scheduled
            {
                self.timers.remove(&(at, index));
            }
        }
    }

    pub(crate) fn connected(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.phase != Phase::Handshaking {
            return;
        }
        connection.phase = Phase::Live;
        let incoming = connection.incoming;
        if incoming {
            self.handshaking -= 1;
        }
        let words = [index as u32, connection.handle.generation, u32::from(incoming)];
        self.notify(Kind::Connected, words);
    }

    pub(crate) fn notify(&mut self, kind: Kind, words: [u32; 3]) {
        self.notices.push_back(Notice {
            kind,
            words,
            stream: None,
        });
    }

    pub(crate) fn notify_stream(&mut self, kind: Kind, stream: Handle, words: [u32; 2]) {
        self.notices.push_back(Notice {
            kind,
            words: [stream.index, words[0], words[1]],
            stream: Some(stream),
        });
    }

    /// Tells JavaScript, once, that a connection is over: its live streams first. `None` is a quiet end that QUIC
    /// reached after the application already knew.
    pub(crate) fn end(&mut self, index: usize, failure: Option<Failure>) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.phase == Phase::Over {
            return;
        }
        let announced = connection.announced();
        if connection.incoming {
            self.accepted -= 1;
            if connection.phase == Phase::Handshaking {
                self.handshaking -= 1;
            }
        }
        connection.phase = Phase::Over;
        let generation = connection.handle.generation;
        let mut live: Vec<Handle> = connection.streams.drain().map(|(_, handle)| handle).collect();
        live.extend(connection.waiting.drain(..));
        if !announced {
            return;
        }
        let failure = failure.unwrap_or_else(|| Failure::closed(0, String::new()));
        let number = self.next_failure;
        self.next_failure = self.next_failure.wrapping_add(1);
        self.failures.insert(number, failure);
        for stream in live {
            self.notify_stream(Kind::StreamClosed, stream, [number, 0]);
        }
        self.notify(Kind::Lost, [index as u32, generation, number]);
    }

    pub fn take_failure(&mut self, number: u32) -> Option<Failure> {
        self.failures.remove(&number)
    }

    /// Closes one session: CONNECTION_CLOSE with the next flush (RFC 9000 §10.2).
    pub fn close_connection(&mut self, handle: Handle, code: u32, reason: &[u8]) {
        let Some(connection) = self.connection(handle) else {
            return;
        };
        let text = String::from_utf8_lossy(reason).into_owned();
        connection
            .proto
            .close(Instant::now(), code.into(), Bytes::copy_from_slice(reason));
        // What has arrived and was not yet delivered is void for the side that closes.
        let live: Vec<Handle> = connection.streams.values().copied().collect();
        for stream in live {
            self.set_paused(stream, true);
        }
        let index = handle.index as usize;
        self.end(index, Some(Failure::closed(code.into(), text)));
        self.mark(index);
    }

    /// Closes every session and sends what that takes.
    pub fn close_all(&mut self, code: u32, reason: &[u8]) {
        self.closing = true;
        self.admission = None;
        self.proto.set_server_config(None);
        let open: Vec<Handle> = self.connections.iter().flatten().map(|c| c.handle).collect();
        for handle in open {
            self.close_connection(handle, code, reason);
        }
        self.flush();
    }

    /// Connections, streams and timers.
    pub fn counts(&self) -> [usize; 3] {
        let connections = self.connections.iter().flatten().count();
        [connections, self.streams.len(), self.timers.len()]
    }

    /// Forgets everything without a word to the peers, after a panic.
    pub fn abandon(&mut self) {
        self.connections.clear();
        self.notices.clear();
        self.readable.clear();
        self.drained.clear();
        self.dirty.clear();
        self.timers.clear();
    }

    /// Sends everything that may be sent now and moves the timers.
    pub fn flush(&mut self) {
        if self.dirty.is_empty() || self.socket.blocked() {
            return;
        }
        let now = Instant::now();
        let mut buffer = std::mem::take(&mut self.scratch);
        while let Some(index) = self.dirty.pop() {
            let segments = self.socket.max_segments();
            while let Some(Some(connection)) = self.connections.get_mut(index) {
                connection.dirty = false;
                buffer.clear();
                let Some(transmit) = connection.proto.poll_transmit(now, segments, &mut buffer) else {
                    break;
                };
                self.socket.send(transmit, &buffer);
                if self.socket.blocked() {
                    break;
                }
            }
            self.drive(index);
            self.schedule(index);
            if self.socket.blocked() {
                self.mark(index);
                break;
            }
        }
        self.scratch = buffer;
    }

    fn schedule(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        connection.deadline = connection.proto.poll_timeout();
        if connection.phase == Phase::Handshaking
            && let Some(give_up) = connection.give_up
        {
            connection.deadline = Some(connection.deadline.map_or(give_up, |at| at.min(give_up)));
        }
        if let Some(deadline) = connection.deadline
            && connection.scheduled.is_none_or(|at| deadline < at)
        {
            if let Some(later) = connection.scheduled.replace(deadline) {
                self.timers.remove(&(later, index));
            }
            self.timers.insert((deadline, index));
        }
    }

    /// When `timeouts` is next due. Timers that moved later are found out there, not here.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    pub fn timeouts(&mut self) {
        let now = Instant::now();
        while let Some(&(at, index)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                continue;
            };
            connection.scheduled = None;
            if connection.phase == Phase::Handshaking && connection.give_up.is_some_and(|at| at <= now) {
                let handle = connection.handle;
                self.close_connection(handle, 0, b"");
            } else if connection.deadline.is_some_and(|deadline| deadline <= now) {
                connection.proto.handle_timeout(now);
                self.mark(index);
                self.drive(index);
            }
            self.schedule(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;
    use crate::tls::{Trust, client};

    /// The kernel rarely refuses a datagram on loopback, so the refusal itself is made up.
    #[test]
    fn a_blocked_socket_sends_nothing_until_it_is_writable_and_then_everything_in_order() {
        let localhost = Ipv4Addr::LOCALHOST.into();
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        peer.set_nonblocking(true).unwrap();
        let destination = peer.local_addr().unwrap();
        let mut endpoint = Endpoint::new(Socket::bind(Some(localhost), 0).ok().unwrap());
        let transmit = qp::Transmit {
            destination,
            ecn: None,
            size: 4,
            segment_size: None,
            src_ip: None,
        };
        endpoint.socket.block_with(transmit, b"held");
        let (crypto, verdict) = client(Trust::Hashes(Vec::new()), b"\x04test").ok().unwrap();
        let settings = Settings::from_numbers(&[3e4, 0., 100., 100., 1e6, 1e6, 1e6, 1e5, 333., 0., 0., 10., 10.]);
        let connected = endpoint.connect(destination, "localhost", crypto, verdict, &settings.ok().unwrap());
        assert!(connected.is_ok());

        let mut buffer = [0; 2000];
        endpoint.flush();
        assert!(endpoint.socket.blocked());
        assert!(peer.recv(&mut buffer).is_err());

        endpoint.socket.writable();
        assert!(!endpoint.socket.blocked());
        endpoint.flush();
        assert_eq!(peer.recv(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"held");
        // The client's first Initial (RFC 9000 §14.1).
        assert!(peer.recv(&mut buffer).unwrap() >= 1200);
        assert!(endpoint.deadline().is_some());
        assert_eq!(endpoint.counts(), [1, 0, 1]);
    }
}
