//! What a session has to tell about itself.

use super::Endpoint;
use crate::handle::Handle;

impl Endpoint {
    /// Smoothed RTT in ms, congestion window, packets sent, packets lost, bytes sent, bytes received, path MTU, packets
    /// sent a second time.
    pub fn stats(&mut self, handle: Handle) -> Option<[f64; 8]> {
        let connection = self.connection(handle)?;
        let copies = connection.flights.copies;
        let stats = connection.proto.stats();
        Some([
            stats.path.rtt.as_secs_f64() * 1000.0,
            stats.path.cwnd as f64,
            stats.path.sent_packets as f64,
            stats.path.lost_packets as f64,
            stats.udp_tx.bytes as f64,
            stats.udp_rx.bytes as f64,
            f64::from(stats.path.current_mtu),
            copies as f64,
        ])
    }
}
