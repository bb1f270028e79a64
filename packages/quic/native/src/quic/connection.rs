//! One QUIC connection: its streams by id, and its state.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto as qp;
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::endpoint::LastProtocol;
use crate::endpoint::pending::Pending;
use crate::endpoint::web::state::Web;
use crate::http3;
use crate::quic::config::{PerConnection, Remote};
use crate::quic::congestion::set_window_open;
use crate::quic::id_map::IdMap;
use crate::quic::liveness::Liveness;
use crate::quic::receive_window::ReceiveWindow;
use crate::quic::redundancy::Flights;
use crate::quic::stream_window::StreamWindow;
use crate::quic::tls::{ClientVerifier, Findings, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Handshaking,
    Live,
    /// JavaScript knows that the connection has ended; QUIC may still be closing or draining (RFC 9000 §10.2).
    Over,
}

pub struct Connection {
    pub proto: qp::Connection,
    pub handle: Handle,
    pub phase: Phase,
    pub incoming: bool,
    /// The session began before the handshake was complete (0-RTT).
    pub early: bool,
    /// Whether the acceptor accepts early data.
    pub takes_early_data: bool,
    /// Remembers the ALPN protocol for a session that resumes this one.
    pub last_protocol: Option<LastProtocol>,
    pub settings: PerConnection,
    pub streams: IdMap<qp::StreamId, Handle>,
    pub receive_window: ReceiveWindow,
    /// Receive window of each stream, adapted to what is read of all streams.
    stream_window: StreamWindow,
    /// Streams of each direction that wait for the peer's stream limit, in order.
    waiting: [VecDeque<Handle>; 2],
    /// Streams to be stopped after pending data has been sent.
    pub late_stops: Vec<(qp::StreamId, qp::VarInt)>,
    /// State of HTTP/3, if this connection speaks it.
    pub web: Option<Box<Web>>,
    /// Sessions for whose datagrams there was no room.
    pub datagrams_wait: Vec<Session>,
    /// Whether the endpoint's list of connections with something to transmit or a timer to set contains this one.
    pub dirty: bool,
    pub deadline: Option<Instant>,
    /// This connection's entry among the endpoint's timers; at or before `deadline`.
    pub scheduled: Option<Instant>,
    /// The source address that an accepted connection is counted under.
    pub source: Option<IpAddr>,
    /// Time by which a dialled session that began early must have completed its handshake.
    pub give_up: Option<Instant>,
    /// State of an accepted connection before it carries a session.
    pub pending: Pending,
    /// Findings of the peer's certificate verifier, shared by all connections of its configuration.
    pub verdict: Option<Verdict>,
    /// The verifier of the client's certificate, if an accepted connection asked for one.
    pub clients: Option<Arc<ClientVerifier>>,
    pub flights: Flights,
    /// Detects a silent server; dialled connections only.
    pub liveness: Option<Box<Liveness>>,
    /// Time at which a client's HTTP/3 connection that has lost its last session is closed at the latest.
    pub leaves: Option<Instant>,
    /// Findings about this connection that the endpoint took from TLS.
    pub findings: Findings,
}

impl Connection {
    pub fn new(proto: qp::Connection, handle: Handle, settings: PerConnection) -> Self {
        let now = Instant::now();
        let incoming = proto.side().is_server();
        let remote = Remote::of(proto.remote_address());
        Connection {
            incoming,
            proto,
            handle,
            phase: Phase::Handshaking,
            early: false,
            takes_early_data: false,
            last_protocol: None,
            settings,
            streams: HashMap::default(),
            receive_window: ReceiveWindow::new(settings.receive_window, settings.receive_window_ceiling, now),
            stream_window: StreamWindow::new(settings.stream_receive_window, remote, now),
            waiting: Default::default(),
            late_stops: Vec::new(),
            web: None,
            datagrams_wait: Vec::new(),
            dirty: false,
            deadline: None,
            scheduled: None,
            source: None,
            give_up: None,
            pending: Pending::dialled(),
            verdict: None,
            clients: None,
            flights: Flights::new(settings.redundancy),
            liveness: (!incoming).then(|| Box::new(Liveness::new(now, remote, settings.idle_timeout))),
            leaves: None,
            findings: Findings::default(),
        }
    }

    /// Whether streams of this direction are accepted. QUIC keeps those of a session that is not admitted; HTTP/3
    /// inspects every stream.
    pub fn takes_streams(&self, dir: qp::Dir) -> bool {
        self.phase == Phase::Live && (self.pending.takes(dir) || self.web.is_some())
    }

    /// Whether JavaScript knows the connection: a dialled one from the start, an accepted one after its handshake.
    pub fn announced(&self) -> bool {
        !self.incoming || self.phase == Phase::Live
    }

    /// Time at which the application is asked whether it waits for the peer.
    pub fn asks(&self) -> Option<Instant> {
        let liveness = self.liveness.as_ref().filter(|_| self.phase == Phase::Live)?;
        liveness.deadline(self.proto.rtt())
    }

    /// Whether the peer has not answered: neither the first packet nor the last PING.
    pub fn is_unheard(&self) -> bool {
        if self.handshaking() {
            return self.proto.stats().udp_rx.datagrams == 0;
        }
        self.liveness.as_ref().is_some_and(|liveness| liveness.is_unanswered())
    }

    /// Whether the server certainly processed nothing that the application wrote since it last waited for nothing.
    pub fn is_unprocessed(&self, lost: &qp::ConnectionError) -> bool {
        let liveness = self
            .liveness
            .as_ref()
            .filter(|_| self.phase == Phase::Live && !self.early);
        liveness.is_some_and(|liveness| match lost {
            qp::ConnectionError::Reset => liveness.reset_while_idle(),
            qp::ConnectionError::TimedOut => liveness.unsent_while_idle(),
            _ => false,
        })
    }

    /// Ends a session whose idle timeout passed while the event loop was blocked, before the first write since then is
    /// sent: its call can be repeated on another session. After sending, only a stateless reset would answer it.
    pub fn time_out_if_overdue(&mut self, now: Instant) {
        let unsent = self
            .liveness
            .as_ref()
            .is_some_and(|liveness| liveness.unsent_while_idle());
        if unsent && self.deadline.is_some_and(|deadline| deadline <= now) {
            self.proto.handle_timeout(now);
        }
    }

    /// Writes the next packets into `buffer`. Writes only one datagram if a PING must leave despite a full congestion
    /// window.
    pub fn poll_transmit(&mut self, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<qp::Transmit> {
        let probes = self.liveness.as_mut().is_some_and(|liveness| liveness.take_probe()) && self.phase == Phase::Live;
        if !probes {
            return self.proto.poll_transmit(now, segments, buffer);
        }
        set_window_open(&self.proto, true);
        let transmit = self.proto.poll_transmit(now, 1, buffer);
        set_window_open(&self.proto, false);
        transmit
    }

    /// Stops the streams whose stop waited until pending data was sent. Returns false if there are none.
    pub fn stop_late(&mut self) -> bool {
        for &(id, code) in &self.late_stops {
            // Fails only when the stream has ended.
            let _ = self.proto.recv_stream(id).stop(code);
        }
        !std::mem::take(&mut self.late_stops).is_empty()
    }

    pub fn note_protocol(&self) {
        let protocol = self.alpn();
        if let Some(last) = &self.last_protocol {
            last.replace(protocol);
        }
    }

    pub fn handshaking(&self) -> bool {
        self.phase == Phase::Handshaking || self.early
    }

    /// Whether an accepted session begins before its handshake is complete. HTTP/3 does not, because JavaScript answers
    /// its requests later anyway.
    pub fn begins_early(&self) -> bool {
        self.takes_early_data && self.proto.has_0rtt() && self.alpn().as_deref() != Some(http3::ALPN)
    }

    pub fn speaks_http3(&self) -> bool {
        self.settings.web_transport_sessions > 0 && self.alpn().as_deref() == Some(http3::ALPN)
    }

    /// Whether SETTINGS are sent with the server's first flight (RFC 9114 §7.2.4.2), which saves a client one round
    /// trip.
    pub fn greets(&self) -> bool {
        self.incoming && self.web.is_none() && self.speaks_http3()
    }

    /// Whether a dialled session resumed an earlier one, and so did not verify the server's certificate again.
    pub fn resumed(&self) -> bool {
        !self.incoming && !self.handshaking() && !self.findings.verified
    }

    /// Takes the verifier's findings after a step of the handshake, before a step of another connection follows.
    pub fn note_findings(&mut self) {
        if self.handshaking()
            && let Some(Ok(mut shared)) = self.verdict.as_ref().map(|verdict| verdict.lock())
        {
            let found = std::mem::take(&mut *shared);
            self.findings.failure = found.failure.or(self.findings.failure.take());
            self.findings.verified |= found.verified;
            self.findings.asked |= found.asked;
        }
    }

    /// Whether the server has yet to accept the client's certificate. It verifies the certificate only after the
    /// client's handshake is complete; HANDSHAKE_DONE shows the client that it succeeded (RFC 9001 §4.1.2).
    pub fn awaits_consent(&self) -> bool {
        self.findings.asked && self.proto.stats().frame_rx.handshake_done == 0
    }

    pub fn waiting_streams(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    pub fn waiting(&mut self, dir: qp::Dir) -> &mut VecDeque<Handle> {
        &mut self.waiting[dir as usize]
    }

    /// Applies the limits of the settings in place of those for unadmitted connections, when a session is admitted.
    pub fn open_wide(&mut self) {
        if self.pending.open() {
            return;
        }
        if let Ok(window) = qp::VarInt::from_u64(self.settings.receive_window) {
            self.proto.set_receive_window(window);
        }
        for dir in [qp::Dir::Bi, qp::Dir::Uni] {
            if let Ok(streams) = qp::VarInt::from_u64(self.settings.streams[dir as usize]) {
                self.proto.set_max_concurrent_streams(dir, streams);
            }
        }
    }

    /// Doubles the peer's stream limit while the peer uses half of it, up to the maximum.
    pub fn raise_stream_limit(&mut self, dir: qp::Dir) {
        if !self.pending.is_open() {
            return;
        }
        // Requests of plain HTTP use the limit of the settings.
        if self.web.as_ref().is_some_and(|web| web.sessions.is_empty()) {
            return;
        }
        let limit = self.proto.max_concurrent_streams(dir);
        let ceiling = self.settings.stream_ceiling;
        if limit < ceiling && self.proto.streams().remote_open_streams(dir) * 2 >= limit {
            let raised = (limit.max(1) * 2).min(ceiling);
            if let Ok(raised) = qp::VarInt::from_u64(raised) {
                self.proto.set_max_concurrent_streams(dir, raised);
            }
        }
    }

    /// Notes that the application has read `bytes` of a stream. Returns whether a larger limit must be sent to the
    /// peer.
    pub fn note_read(&mut self, stream: qp::StreamId, bytes: usize) -> bool {
        if self.stream_window.read(stream, bytes) && self.pending.is_open() {
            let size = self.stream_window.adapt(Instant::now(), self.proto.min_rtt());
            if let Some(Ok(size)) = size.map(qp::VarInt::from_u64) {
                self.proto.set_stream_receive_window(size);
            }
        }
        if !self.receive_window.read(bytes) || !self.pending.is_open() {
            return false;
        }
        let grown = self.receive_window.grow(Instant::now(), self.proto.rtt());
        let Some(Ok(size)) = grown.map(qp::VarInt::from_u64) else {
            return false;
        };
        self.proto.set_receive_window(size);
        true
    }

    /// The peer's certificate, followed by intermediates.
    fn peer_chain(&self) -> Option<Vec<CertificateDer<'static>>> {
        let chain = self.proto.crypto_session().peer_identity()?.downcast().ok()?;
        Some(*chain)
    }

    /// The peer's certificate in DER.
    pub fn peer_certificate(&self) -> Option<Vec<u8>> {
        Some(self.peer_chain()?.first()?.to_vec())
    }

    /// The failure of a client whose session was resumed although the certificate of its first handshake is no longer
    /// valid.
    pub fn expired_resumption(&self) -> Option<Failure> {
        let clients = self.clients.as_ref().filter(|_| !self.findings.verified)?;
        let chain = self.peer_chain().unwrap_or_default();
        clients.judge_again(&chain, UnixTime::now()).err()
    }

    pub fn alpn(&self) -> Option<Vec<u8>> {
        match self.handshake_data() {
            Some(data) => data.protocol,
            None => self.last_protocol.as_ref()?.borrow().clone(),
        }
    }

    /// Number of the TLS group of the key exchange; 0 before it.
    pub fn key_exchange_group(&self) -> u16 {
        self.handshake_data()
            .map_or(0, |data| data.negotiated_key_exchange_group.into())
    }

    fn handshake_data(&self) -> Option<Box<qp::crypto::rustls::HandshakeData>> {
        self.proto.crypto_session().handshake_data()?.downcast().ok()
    }
}
