//! Counters of a session and of the endpoint.

use super::Endpoint;
use crate::bridge::handle::Session;
use crate::bridge::layout::{EndpointStats, SessionStats};

impl Endpoint {
    pub fn session_stats(&mut self, session: Session) -> Option<SessionStats> {
        let connection = self.connection_of(session)?;
        let stats = connection.proto.stats();
        let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1000.0;
        Some(SessionStats {
            rtt_ms: ms(stats.path.rtt),
            min_rtt_ms: ms(stats.path.min_rtt),
            congestion_window: stats.path.cwnd as f64,
            mtu: f64::from(stats.path.current_mtu),
            sent_packets: stats.path.sent_packets as f64,
            lost_packets: stats.path.lost_packets as f64,
            copied_packets: connection.flights.copies as f64,
            congestion_events: stats.path.congestion_events as f64,
            sent_bytes: stats.udp_tx.bytes as f64,
            received_bytes: stats.udp_rx.bytes as f64,
            lost_bytes: stats.path.lost_bytes as f64,
            sent_udp_datagrams: stats.udp_tx.datagrams as f64,
            received_udp_datagrams: stats.udp_rx.datagrams as f64,
            sent_datagrams: stats.frame_tx.datagram as f64,
            received_datagrams: stats.frame_rx.datagram as f64,
            open_streams: connection.streams.len() as f64,
            waiting_streams: connection.waiting_streams() as f64,
            receive_window: connection.receive_window.size() as f64,
            key_exchange_group: f64::from(connection.key_exchange_group()),
        })
    }

    pub fn stats(&self) -> EndpointStats {
        let buffers = self.socket.buffers();
        EndpointStats {
            handshakes: self.handshaking as f64,
            refused: self.counters.refused as f64,
            retried: self.counters.retried as f64,
            failed_handshakes: self.counters.failed as f64,
            receive_buffer: buffers.receive as f64,
            send_buffer: buffers.send as f64,
            asked_buffer: buffers.asked as f64,
        }
    }
}
