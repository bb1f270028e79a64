//! Receives datagrams.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto as qp;

use super::Endpoint;
use crate::quic::connection::Phase;

/// Maximum number of datagrams read at once: about one system call's worth with GRO. Datagrams that stay in the socket
/// while JavaScript runs are acknowledged later, and the peer takes that delay for a queue on the path.
const MOST_DATAGRAMS: usize = 256;
const MOST_BYTES: usize = 256 * 1024;
/// Bit of a packet's first byte that marks a long header (RFC 9000 §17).
const LONG_HEADER: u8 = 0x80;

impl Endpoint {
    /// Reads the datagrams that have arrived, within bounds. Returns their number.
    pub fn receive(&mut self) -> usize {
        let mut touched = std::mem::take(&mut self.dirty);
        let mut buffers = Vec::new();
        let (mut datagrams, mut received, mut calls) = (0, 0, 0);
        let mut more = true;
        while more && calls < MOST_DATAGRAMS && datagrams < MOST_DATAGRAMS && received < MOST_BYTES {
            calls += 1;
            more = self.socket.receive(|_, meta, bytes| {
                // An empty datagram also costs a system call.
                datagrams += meta.len.div_ceil(meta.stride.max(1)).max(1);
                received += meta.len;
                // One allocation per GRO buffer; its datagrams share it.
                buffers.push((*meta, BytesMut::from(bytes)));
            });
        }
        // Read after receiving: if this thread was delayed in between, an earlier time would make the shortest round
        // trip, which congestion control uses, too short.
        let now = Instant::now();
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
        datagrams
    }

    fn datagram(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: Option<qp::EcnCodepoint>,
        datagram: BytesMut,
    ) {
        let mut response = std::mem::take(&mut self.scratch);
        response.clear();
        // If the endpoint does not listen, Initials are the only packets with long headers that are answered.
        let by_reset = self.admission.is_none() || datagram.first().is_some_and(|byte| byte & LONG_HEADER == 0);
        match self.proto.handle(now, remote, local, ecn, datagram, &mut response) {
            Some(qp::DatagramEvent::ConnectionEvent(ch, event)) => {
                if let Some(Some(connection)) = self.connections.get_mut(ch.0) {
                    connection.proto.handle_event(event);
                    if let Some(liveness) = &mut connection.liveness
                        && !connection.proto.is_closed()
                    {
                        liveness.heard(now);
                    }
                    connection.note_findings();
                    // Sent now: a stateless reset after a CONNECTION_CLOSE would replace the reason in it.
                    if connection.phase != Phase::Over && connection.proto.is_closed() {
                        self.drive(ch.0);
                    }
                }
                self.mark(ch.0);
            }
            Some(qp::DatagramEvent::NewConnection(incoming)) => {
                self.admit(now, incoming, &mut response);
            }
            Some(qp::DatagramEvent::Response(transmit)) if !by_reset || self.resets.allow(now, remote) => {
                self.socket.send(transmit, &response);
            }
            Some(qp::DatagramEvent::Response(_)) | None => {}
        }
        self.scratch = response;
    }
}
