//! Converts the transport settings that JavaScript passes into quinn-proto's configuration.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use crate::bridge::error::Failure;
use crate::bridge::layout::Settings;
use crate::endpoint::pending::narrow;
use crate::quic::congestion::{ClosableConfig, SteadyConfig};
use crate::quic::redundancy::Redundancy;
use crate::quic::stream_window::StreamWindow;

/// The UDP payload of a 1,500 byte packet, with room for the headers of tunnels.
const ETHERNET_PAYLOAD: u16 = 1452;
/// Payload of a UDP datagram on loopback, in bytes: a packet of 9,000 bytes without its IPv6 and UDP headers.
const LOOPBACK_PAYLOAD: u16 = 8952;

/// Initial estimate of the round-trip time. If the first packet is lost because the server does not listen yet, it is
/// sent again after three times this.
const LOOPBACK_RTT: Duration = Duration::from_millis(50);

/// Whether the peer is on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    ThisMachine,
    Elsewhere,
}

impl Remote {
    pub fn of(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() {
            Remote::ThisMachine
        } else {
            Remote::Elsewhere
        }
    }
}

/// Whether this machine's loopback is known to carry UDP payloads of `bytes`, so that connections need not probe for
/// it.
#[cfg(target_os = "linux")]
fn loopback_carries(bytes: u16) -> bool {
    const HEADERS: u32 = 20 + 8;
    let mtu = || {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").ok()?;
        socket.connect(socket.local_addr().ok()?).ok()?;
        rustix::net::sockopt::ip_mtu(&socket).ok()
    };
    mtu().is_some_and(|mtu| mtu >= u32::from(bytes) + HEADERS)
}

#[cfg(not(target_os = "linux"))]
fn loopback_carries(_bytes: u16) -> bool {
    false
}

/// Settings of one connection that the engine reads itself; all others are quinn-proto's.
#[derive(Clone, Copy, Debug)]
pub struct PerConnection {
    pub high_water_mark: usize,
    /// Streams the peer may open at first, bidirectional and unidirectional.
    pub streams: [u64; 2],
    pub stream_ceiling: u64,
    pub receive_window: u64,
    pub receive_window_ceiling: u64,
    /// Receive window of one stream, in bytes; 0: chosen by `remote`.
    pub stream_receive_window: u64,
    /// Maximum number of WebTransport sessions on one HTTP/3 connection; 0: the connection does not speak HTTP/3.
    pub web_transport_sessions: usize,
    /// Whether requests of plain HTTP/3 are accepted.
    pub plain_requests: bool,
    pub redundancy: Redundancy,
    /// Zero: no idle timeout.
    pub idle_timeout: Duration,
}

impl Settings {
    pub fn per_connection(&self) -> PerConnection {
        PerConnection {
            high_water_mark: self.high_water_mark as usize,
            streams: self.streams(),
            stream_ceiling: self.max_streams_ceiling as u64,
            receive_window: self.receive_window as u64,
            receive_window_ceiling: self.receive_window_ceiling as u64,
            stream_receive_window: self.stream_receive_window as u64,
            web_transport_sessions: self.web_transport_sessions as usize,
            plain_requests: self.plain_requests != 0.0,
            redundancy: match self.redundancy as u32 {
                0 => Redundancy::Off,
                2 => Redundancy::Always,
                _ => Redundancy::AfterLoss,
            },
            idle_timeout: millis(self.idle_timeout_ms),
        }
    }

    fn streams(&self) -> [u64; 2] {
        [self.max_streams, self.max_uni_streams].map(|count| count as u64)
    }

    /// Returns the configuration of dialled connections with `remote`.
    pub fn transport(&self, remote: Remote) -> Result<Arc<TransportConfig>, Failure> {
        Ok(Arc::new(self.config(remote)?))
    }

    /// Returns the configuration of accepted connections with `remote`, until they carry a session.
    pub fn accepting(&self, remote: Remote) -> Result<Arc<TransportConfig>, Failure> {
        let mut config = self.config(remote)?;
        narrow(&mut config, self.streams(), self.receive_window as u64);
        Ok(Arc::new(config))
    }

    /// Builds the configuration for connections with `remote`. The path to a peer on this machine may carry larger
    /// packets.
    fn config(&self, remote: Remote) -> Result<TransportConfig, Failure> {
        let mut transport = TransportConfig::default();
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(match (self.max_udp_payload as u16, remote) {
            (0, Remote::Elsewhere) => ETHERNET_PAYLOAD,
            (0, Remote::ThisMachine) => LOOPBACK_PAYLOAD,
            (given, _) => given,
        });
        if self.max_udp_payload == 0.0 && remote == Remote::ThisMachine {
            // One probe, of the upper bound: quinn-proto halves the range while a half is at least this much.
            discovery.minimum_change(LOOPBACK_PAYLOAD / 2);
            if loopback_carries(LOOPBACK_PAYLOAD) {
                transport.initial_mtu(LOOPBACK_PAYLOAD);
            }
        }
        transport.mtu_discovery_config(Some(discovery));
        let idle = (self.idle_timeout_ms > 0.0)
            .then(|| IdleTimeout::try_from(millis(self.idle_timeout_ms)))
            .transpose()
            .map_err(|_| Failure::option("idleTimeoutMs is too large"))?;
        let stream_window = StreamWindow::first(self.stream_receive_window as u64, remote);
        transport
            .max_idle_timeout(idle)
            .keep_alive_interval((self.keep_alive_interval_ms > 0.0).then(|| millis(self.keep_alive_interval_ms)))
            .max_concurrent_bidi_streams(varint(self.max_streams, "maxStreams")?)
            .max_concurrent_uni_streams(varint(self.max_uni_streams, "maxUniStreams")?)
            .datagram_receive_buffer_size((self.datagram_buffer > 0.0).then_some(self.datagram_buffer as usize))
            .datagram_send_buffer_size(self.datagram_buffer as usize)
            .stream_receive_window(varint(stream_window as f64, "streamReceiveWindow")?)
            .receive_window(varint(self.receive_window, "receiveWindow")?)
            .send_window(self.send_window as u64)
            .reset_stream_at(true);
        match (self.initial_rtt_ms, remote) {
            (0.0, Remote::Elsewhere) => {}
            (0.0, Remote::ThisMachine) => drop(transport.initial_rtt(LOOPBACK_RTT)),
            (given, _) => drop(transport.initial_rtt(millis(given))),
        }
        if self.max_ack_delay_ms > 0.0 {
            let mut acks = AckFrequencyConfig::default();
            acks.max_ack_delay(Some(millis(self.max_ack_delay_ms)));
            transport.ack_frequency_config(Some(acks));
        }
        match self.congestion_control as u32 {
            1 => set_controller(&mut transport, NewRenoConfig::default()),
            2 => set_controller(&mut transport, BbrConfig::default()),
            3 => set_controller(&mut transport, SteadyConfig),
            _ => set_controller(&mut transport, CubicConfig::default()),
        }
        Ok(transport)
    }
}

fn set_controller(transport: &mut TransportConfig, factory: impl ControllerFactory + Send + Sync + 'static) {
    transport.congestion_controller_factory(Arc::new(ClosableConfig(Arc::new(factory))));
}

/// Panics if `value` is not a valid number of milliseconds. src/limits.ts rejects such values; a test uses one to prove
/// that a panic is contained.
fn millis(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1000.0)
}

fn varint(value: f64, name: &str) -> Result<VarInt, Failure> {
    VarInt::from_u64(value as u64).map_err(|_| Failure::option(format!("{name} is too large")))
}
