//! One QUIC connection, its streams by id, and where it stands.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto as qp;
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::config::{PerConnection, Remote};
use crate::congestion::set_window_open;
use crate::endpoint::LastProtocol;
use crate::endpoint::pending::Pending;
use crate::error::Failure;
use crate::h3;
use crate::handle::{Handle, Session};
use crate::ids::IdMap;
use crate::receive_window::ReceiveWindow;
use crate::redundancy::Flights;
use crate::silence::Silence;
use crate::stream_window::StreamWindow;
use crate::tls::{ClientVerifier, Findings, Verdict};
use crate::web::Web;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Handshaking,
    Live,
    /// JavaScript has been told of the end; QUIC may still be closing or draining (RFC 9000 §10.2).
    Over,
}

pub struct Connection {
    pub proto: qp::Connection,
    pub handle: Handle,
    pub phase: Phase,
    pub incoming: bool,
    /// Live before its handshake is complete (0-RTT).
    pub early: bool,
    /// The acceptor has asked for early data.
    pub takes_early_data: bool,
    /// Where a session that may be resumed notes its ALPN protocol for the next one.
    pub last_protocol: Option<LastProtocol>,
    pub settings: PerConnection,
    pub streams: IdMap<qp::StreamId, Handle>,
    pub receive_window: ReceiveWindow,
    /// That of every stream, by what is read of all.
    stream_window: StreamWindow,
    /// Streams of each direction that wait for the peer's limit, first come first served.
    waiting: [VecDeque<Handle>; 2],
    /// Streams to be stopped when what is written to them has left.
    pub late_stops: Vec<(qp::StreamId, qp::VarInt)>,
    /// HTTP/3, where this connection speaks it.
    pub web: Option<Box<Web>>,
    /// Sessions that were refused a datagram for want of room.
    pub datagrams_wait: Vec<Session>,
    /// Whether it is in the endpoint's list of connections with something to transmit or a timer to set.
    pub dirty: bool,
    pub deadline: Option<Instant>,
    /// The entry of this connection among the endpoint's timers; at or before `deadline`.
    pub scheduled: Option<Instant>,
    /// The source address that an accepted one counts for.
    pub source: Option<IpAddr>,
    /// When a dialled session that began early must have completed its handshake.
    pub give_up: Option<Instant>,
    /// Where an accepted one stands before it carries a session.
    pub pending: Pending,
    /// The peer's certificate verifier explains itself here, to every connection of its configuration.
    pub verdict: Option<Verdict>,
    /// The verifier of the client's certificate, where an accepted connection asked for one.
    pub clients: Option<Arc<ClientVerifier>>,
    pub flights: Flights,
    /// How long the server has been silent; dialled connections only.
    pub silence: Option<Box<Silence>>,
    /// When a client's HTTP/3 connection that lost its last session is closed, whatever the server says.
    pub leaves: Option<Instant>,
    /// Events that the endpoint had for this connection.
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
            silence: (!incoming).then(|| Box::new(Silence::new(now, remote, settings.idle_timeout))),
            leaves: None,
            findings: Findings::default(),
        }
    }

    /// Those of a session that is not admitted stay with QUIC. HTTP/3 looks at each.
    pub fn takes_streams(&self, dir: qp::Dir) -> bool {
        self.phase == Phase::Live && (self.pending.takes(dir) || self.web.is_some())
    }

    /// JavaScript knows a dialled connection from the start, an accepted one from its handshake on.
    pub fn announced(&self) -> bool {
        !self.incoming || self.phase == Phase::Live
    }

    /// When the application is asked whether it waits for the peer.
    pub fn asks(&self) -> Option<Instant> {
        let silence = self.silence.as_ref().filter(|_| self.phase == Phase::Live)?;
        silence.deadline(self.proto.rtt())
    }

    /// Whether the peer did not answer: the first packet, or the last PING.
    pub fn is_unheard(&self) -> bool {
        if self.handshaking() {
            return self.proto.stats().udp_rx.datagrams == 0;
        }
        self.silence.as_ref().is_some_and(|silence| silence.is_unanswered())
    }

    /// Whether the server processed nothing of what the application wrote since it last waited for nothing.
    pub fn is_unprocessed(&self, lost: &qp::ConnectionError) -> bool {
        let silence = self
            .silence
            .as_ref()
            .filter(|_| self.phase == Phase::Live && !self.early);
        silence.is_some_and(|silence| match lost {
            qp::ConnectionError::Reset => silence.reset_while_idle(),
            qp::ConnectionError::TimedOut => silence.unsent_while_idle(),
            _ => false,
        })
    }

    /// Packs the packets to be sent next: one datagram where a PING is to leave whatever the congestion window says.
    pub fn poll_transmit(&mut self, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<qp::Transmit> {
        let probes = self.silence.as_mut().is_some_and(|silence| silence.take_probe()) && self.phase == Phase::Live;
        if !probes {
            return self.proto.poll_transmit(now, segments, buffer);
        }
        set_window_open(&self.proto, true);
        let transmit = self.proto.poll_transmit(now, 1, buffer);
        set_window_open(&self.proto, false);
        transmit
    }

    /// Stops the streams that waited for what was written to leave. False when there are none.
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

    /// Whether an accepted session begins before its handshake is complete. Not HTTP/3, whose requests JavaScript
    /// answers only later anyway.
    pub fn begins_early(&self) -> bool {
        self.takes_early_data && self.proto.has_0rtt() && self.alpn().as_deref() != Some(h3::ALPN)
    }

    pub fn speaks_http3(&self) -> bool {
        self.settings.web_transport_sessions > 0 && self.alpn().as_deref() == Some(h3::ALPN)
    }

    /// A server's SETTINGS go with its first flight (RFC 9114 §7.2.4.2), so that a client need not wait another round trip
    /// for them.
    pub fn greets(&self) -> bool {
        self.incoming && self.web.is_none() && self.speaks_http3()
    }

    /// A dialled session that did not verify the server's certificate, having done so in an earlier one.
    pub fn resumed(&self) -> bool {
        !self.incoming && !self.handshaking() && !self.findings.verified
    }

    /// A step of the handshake is over: takes what the verifier has found, before another connection's step follows.
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

    /// A server that asked for the client's certificate judges it only after the client's handshake is complete; this
    /// side learns of its consent by HANDSHAKE_DONE (RFC 9001 §4.1.2).
    pub fn awaits_consent(&self) -> bool {
        self.findings.asked && self.proto.stats().frame_rx.handshake_done == 0
    }

    pub fn waiting_streams(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    pub fn waiting(&mut self, dir: qp::Dir) -> &mut VecDeque<Handle> {
        &mut self.waiting[dir as usize]
    }

    /// A session of it is admitted: the limits of its settings take the place of those of a stranger.
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

    /// Doubles the peer's stream limit while it uses half of it, up to the ceiling.
    pub fn raise_stream_limit(&mut self, dir: qp::Dir) {
        if !self.pending.is_open() {
            return;
        }
        // Requests of plain HTTP have the limit of the settings.
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

    /// The application has taken `bytes` of a stream. Returns whether that allows the peer more, which is to be sent.
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

    /// The peer's certificate, then intermediates.
    fn peer_chain(&self) -> Option<Vec<CertificateDer<'static>>> {
        let chain = self.proto.crypto_session().peer_identity()?.downcast().ok()?;
        Some(*chain)
    }

    /// The DER of the peer's certificate.
    pub fn peer_certificate(&self) -> Option<Vec<u8>> {
        Some(self.peer_chain()?.first()?.to_vec())
    }

    /// Why the client may not go on with a session that it resumed: the certificate of its first handshake no longer holds.
    pub fn resumed_in_vain(&self) -> Option<Failure> {
        let clients = self.clients.as_ref().filter(|_| !self.findings.verified)?;
        let chain = self.peer_chain().unwrap_or_default();
        clients.judge_again(&chain, UnixTime::now()).err()
    }

    /// The negotiated ALPN protocol.
    pub fn alpn(&self) -> Option<Vec<u8>> {
        let Some(data) = self.proto.crypto_session().handshake_data() else {
            return self.last_protocol.as_ref()?.borrow().clone();
        };
        data.downcast::<qp::crypto::rustls::HandshakeData>().ok()?.protocol
    }
}
