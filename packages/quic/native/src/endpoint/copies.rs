//! Datagrams queued to be sent a second time.

use std::collections::VecDeque;
use std::time::Instant;

use quinn_proto as qp;

use crate::net::socket::Socket;
use crate::quic::redundancy::COPY_DELAY;

/// Limit of the queue; no copies are made beyond it.
const MOST_BYTES: usize = 8 << 20;

struct Datagrams {
    due: Instant,
    transmit: qp::Transmit,
    contents: Box<[u8]>,
}

/// Ordered by due time, since the delay is constant.
#[derive(Default)]
pub struct Copies {
    queue: VecDeque<Datagrams>,
    bytes: usize,
}

impl Copies {
    pub fn add(&mut self, now: Instant, transmit: &qp::Transmit, contents: &[u8]) {
        if self.bytes + transmit.size <= MOST_BYTES {
            self.bytes += transmit.size;
            self.queue.push_back(Datagrams {
                due: now + COPY_DELAY,
                transmit: qp::Transmit {
                    destination: transmit.destination,
                    ecn: transmit.ecn,
                    size: transmit.size,
                    segment_size: transmit.segment_size,
                    src_ip: transmit.src_ip,
                },
                contents: contents[..transmit.size].into(),
            });
        }
    }

    pub fn due(&self) -> Option<Instant> {
        self.queue.front().map(|first| first.due)
    }

    /// Sends the copies that are due; drops them if the socket has no room.
    pub fn send(&mut self, now: Instant, socket: &mut Socket) {
        while self.due().is_some_and(|due| due <= now) {
            let Some(first) = self.queue.pop_front() else {
                return;
            };
            self.bytes -= first.contents.len();
            if !socket.blocked() {
                socket.send(first.transmit, &first.contents);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::net::bind::Sharing;
    use crate::net::socket::Offload;

    #[test]
    fn what_waits_is_bounded_and_leaves_when_it_is_due() {
        let localhost = Ipv4Addr::LOCALHOST;
        let mut socket = Socket::bind(Some(localhost.into()), 0, Sharing::None, Offload::System)
            .ok()
            .unwrap();
        let transmit = qp::Transmit {
            destination: (localhost, 9).into(),
            ecn: None,
            size: 60_000,
            segment_size: Some(1200),
            src_ip: None,
        };
        let mut copies = Copies::default();
        let now = Instant::now();
        for _ in 0..200 {
            copies.add(now, &transmit, &[0; 65_000]);
        }
        assert_eq!(copies.queue.len(), MOST_BYTES / 60_000);
        copies.send(now, &mut socket);
        assert_eq!(copies.due(), Some(now + COPY_DELAY));
        copies.send(now + COPY_DELAY, &mut socket);
        assert_eq!((copies.due(), copies.bytes), (None, 0));
    }
}
