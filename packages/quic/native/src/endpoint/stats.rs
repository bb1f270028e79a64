//! What a session and the endpoint have to tell about themselves.

use super::Endpoint;
use crate::handle::Session;

impl Endpoint {
    /// In the order of `SESSION_STATS` in `src/stats.ts`.
    pub fn session_stats(&mut self, session: Session) -> Option<Vec<f64>> {
        let connection = self.connection_of(session)?;
        let stats = connection.proto.stats();
        let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1000.0;
        Some(vec![
            ms(stats.path.rtt),
            ms(stats.path.min_rtt),
            stats.path.cwnd as f64,
            f64::from(stats.path.current_mtu),
            stats.path.sent_packets as f64,
            stats.path.lost_packets as f64,
            connection.flights.copies as f64,
            stats.path.congestion_events as f64,
            stats.udp_tx.bytes as f64,
            stats.udp_rx.bytes as f64,
            stats.path.lost_bytes as f64,
            stats.udp_tx.datagrams as f64,
            stats.udp_rx.datagrams as f64,
            stats.frame_tx.datagram as f64,
            stats.frame_rx.datagram as f64,
            connection.streams.len() as f64,
            connection.waiting_streams() as f64,
            connection.receive_window.size() as f64,
        ])
    }

    /// In the order of `ENDPOINT_STATS` in `src/stats.ts`.
    pub fn stats(&self) -> Vec<f64> {
        let buffers = self.socket.buffers();
        vec![
            self.handshaking as f64,
            self.counters.refused as f64,
            self.counters.retried as f64,
            self.counters.failed as f64,
            buffers.receive as f64,
            buffers.send as f64,
            buffers.asked as f64,
        ]
    }
}
