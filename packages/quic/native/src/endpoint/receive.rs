//! Datagrams in.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto as qp;

use super::Endpoint;
use crate::connection::Phase;

/// Read in one go: about what one call brings where the kernel puts datagrams together (GRO). What stays in the socket
/// while JavaScript runs is acknowledged later by as much, and the peer takes that for a queue on the way.
const MOST_DATAGRAMS: usize = 256;
const MOST_BYTES: usize = 256 * 1024;
/// Bit of a packet's first byte that marks a long header (RFC 9000 §17).
const LONG_HEADER: u8 = 0x80;

impl Endpoint {
    /// Reads what has arrived, within bounds. Returns the number of datagrams.
    pub fn receive(&mut self) -> usize {
        let mut touched = std::mem::take(&mut self.dirty);
        let mut buffers = Vec::new();
        let (mut datagrams, mut received, mut calls) = (0, 0, 0);
        let mut more = true;
        while more && calls < MOST_DATAGRAMS && datagrams < MOST_DATAGRAMS && received < MOST_BYTES {
            calls += 1;
            more = self.socket.receive(|_, meta, bytes| {
                // An empty one takes a system call like any other.
                datagrams += meta.len.div_ceil(meta.stride.max(1)).max(1);
                received += meta.len;
                // One allocation per GRO buffer; its datagrams share it.
                buffers.push((*meta, BytesMut::from(bytes)));
            });
        }
        // Not before: were this thread held up in between, what arrived meanwhile would seem to have come early, and the
        // shortest round trip ever seen, which congestion control goes by, would be one that never was.
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
        // Where nobody listens, the only packets with long headers that get an answer are Initials.
        let by_reset = self.admission.is_none() || datagram.first().is_some_and(|byte| byte & LONG_HEADER == 0);
        match self.proto.handle(now, remote, local, ecn, datagram, &mut response) {
            Some(qp::DatagramEvent::ConnectionEvent(ch, event)) => {
                if let Some(Some(connection)) = self.connections.get_mut(ch.0) {
                    connection.proto.handle_event(event);
                    if let Some(silence) = &mut connection.silence
                        && !connection.proto.is_closed()
                    {
                        silence.heard(now);
                    }
                    connection.note_findings();
                    // Now: a stateless reset behind a CONNECTION_CLOSE would take the place of what that says.
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
