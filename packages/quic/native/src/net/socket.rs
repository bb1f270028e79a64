//! One non-blocking UDP socket with GSO, GRO and ECN, based on quinn-udp.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use quinn_proto as qp;
use quinn_udp::{RecvMeta, UdpSocketState};

use crate::bridge::error::Failure;
use crate::ffi::gro::receive_singly;
use crate::net::bind::{Buffers, Sharing, bind_any, enlarge_buffers, granted_buffers};
use crate::net::relay_envelope::{Head, Token};

/// Number of buffers per receive call, if the system fills several; with GRO each may hold up to 64 KiB of datagrams.
const RECEIVE_SLOTS: usize = if quinn_udp::BATCH_SIZE < 8 {
    quinn_udp::BATCH_SIZE
} else {
    8
};
const RECEIVE_SLOT_BYTES: usize = 65_536;
/// Maximum bytes of one GSO send: an IP packet holds 64 KiB including its headers.
const MAX_GSO_BYTES: usize = 65_000;

/// How long a worker waits for an answer to its greeting, and how often it sends one.
const GREETING_PATIENCE: Duration = Duration::from_millis(100);
const MOST_GREETINGS: usize = 30;

pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
    /// Receive slots one after the other: as many as a receive call fills at most.
    buffer: Vec<u8>,
    offload: Offload,
    /// A transmit for which the kernel had no room. Nothing else is sent while it waits.
    unsent: Option<(qp::Transmit, Vec<u8>)>,
    sharing: Sharing,
    /// None if the socket itself is bound to the port.
    channel: Option<Channel>,
    /// Whether something was sent since `take_sent`.
    sent: bool,
}

/// Connection to the process that has the port and relays datagrams to its workers: `relay.rs`.
struct Channel {
    relay: SocketAddr,
    token: Token,
    place: u8,
    envelope: Vec<u8>,
}

/// Whether one system call may pass several datagrams, if the system supports it (GSO, GRO, recvmmsg). Otherwise the
/// socket behaves as on a system without support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    None,
    System,
}

impl Offload {
    fn slots(self) -> usize {
        match self {
            Offload::None => 1,
            Offload::System => RECEIVE_SLOTS,
        }
    }
}

impl Socket {
    pub fn bind(host: Option<IpAddr>, port: u16, sharing: Sharing, offload: Offload) -> Result<Self, Failure> {
        let io = bind_any(host, port, sharing)?;
        enlarge_buffers(&io);
        Socket::new(io, sharing, offload)
    }

    /// Makes the socket of a place in a group of workers. Keeps the buffer sizes that its binder has set: an
    /// unprivileged process that set them again would reduce them to the system's limit.
    pub fn adopt(descriptor: i32, place: u8, offload: Offload) -> Result<Self, Failure> {
        Socket::new(
            crate::net::port_group::adopt(descriptor)?,
            Sharing::Group(place),
            offload,
        )
    }

    /// Makes the socket of a place in a group whose port another process has. Returns after that process has answered.
    pub fn join(port: u16, token: Token, place: u8, offload: Offload) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::system(&error, "reach the process that has the port of the group");
        let relay = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let io = bind_any(Some(relay.ip()), 0, Sharing::None)?;
        enlarge_buffers(&io);
        let address = greet(&io, relay, &token, place).map_err(failed)?;
        let mut socket = Socket::new(io, Sharing::Group(place), offload)?;
        socket.address = address;
        socket.channel = Some(Channel {
            relay,
            token,
            place,
            envelope: Vec::new(),
        });
        Ok(socket)
    }

    /// Makes another handle for the same socket, for another thread.
    pub fn duplicate(&self) -> Result<Self, Failure> {
        let io = self.io.try_clone();
        let io = io.map_err(|error| Failure::system(&error, "prepare a UDP socket"))?;
        Socket::new(io, self.sharing, self.offload)
    }

    fn new(io: UdpSocket, sharing: Sharing, offload: Offload) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::system(&error, "prepare a UDP socket");
        let state = UdpSocketState::new((&io).into()).map_err(failed)?;
        if offload == Offload::None {
            receive_singly(&io);
        }
        let address = io.local_addr().map_err(failed)?;
        Ok(Socket {
            io,
            state,
            address,
            buffer: vec![0; offload.slots() * RECEIVE_SLOT_BYTES],
            offload,
            unsent: None,
            sharing,
            channel: None,
            sent: false,
        })
    }

    /// Makes a socket on another port or address to replace this one.
    pub fn another(&self, host: Option<IpAddr>, port: u16) -> Result<Self, Failure> {
        let host = host.unwrap_or(self.address.ip());
        if host.is_ipv4() != self.address.is_ipv4() {
            return Err(Failure::option(format!(
                "host {host} is of another family than {}, and sessions cannot change theirs",
                self.address
            )));
        }
        Socket::bind(Some(host), port, self.sharing, self.offload)
    }

    pub fn io(&self) -> &UdpSocket {
        &self.io
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    pub fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    pub fn buffers(&self) -> Buffers {
        granted_buffers(&self.io)
    }

    /// Read before each send, because quinn-udp lowers it to 1 when the kernel refuses a GSO send.
    pub fn max_segments(&self, datagram_bytes: u16) -> usize {
        if self.offload == Offload::None {
            return 1;
        }
        self.state
            .max_gso_segments()
            .min(MAX_GSO_BYTES / usize::from(datagram_bytes))
            .max(1)
    }

    /// Converts the address to this socket's family. Returns None if the socket cannot reach it.
    pub fn reachable(&self, remote: SocketAddr) -> Option<SocketAddr> {
        match (self.address, remote) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                Some(SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()))
            }
            (SocketAddr::V4(_), SocketAddr::V6(v6)) => {
                let v4 = v6.ip().to_ipv4_mapped()?;
                Some(SocketAddr::new(v4.into(), v6.port()))
            }
            _ => Some(remote),
        }
    }

    pub fn blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// Sends, or keeps the transmit until the socket is writable. On any other error only this datagram is lost: QUIC
    /// repairs losses.
    pub fn send(&mut self, transmit: qp::Transmit, contents: &[u8]) {
        if self.unsent.is_some() {
            return;
        }
        self.sent = true;
        let contents = &contents[..transmit.size];
        let ecn = transmit
            .ecn
            .and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8));
        let own = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn,
            contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        let is_full = match &mut self.channel {
            None => is_full(&self.state, &self.io, &own),
            Some(channel) => {
                channel.wrap(&own);
                let wrapped = quinn_udp::Transmit {
                    destination: channel.relay,
                    ecn: None,
                    contents: &channel.envelope,
                    segment_size: None,
                    src_ip: None,
                };
                is_full(&self.state, &self.io, &wrapped)
            }
        };
        if is_full {
            self.unsent = Some((transmit, contents.to_vec()));
        }
    }

    /// Sends, and returns true if the system has no room. On any other error only this datagram is lost.
    pub fn is_full_for(&self, transmit: &quinn_udp::Transmit) -> bool {
        is_full(&self.state, &self.io, transmit)
    }

    /// Whether something was sent since this was last asked.
    pub fn take_sent(&mut self) -> bool {
        std::mem::take(&mut self.sent)
    }

    #[cfg(test)]
    pub fn block_with(&mut self, transmit: qp::Transmit, contents: &[u8]) {
        self.unsent = Some((transmit, contents.to_vec()));
    }

    pub fn writable(&mut self) {
        if let Some((transmit, contents)) = self.unsent.take() {
            self.send(transmit, &contents);
        }
    }

    /// Makes one receive call and passes each buffer with its metadata to the callback. Returns whether there may be
    /// more to receive: possible after a call that fills every buffer, and after one that reports the failure of an
    /// earlier send (ICMP).
    pub fn receive(&mut self, mut each: impl FnMut(&mut Self, &RecvMeta, &[u8])) -> bool {
        let slots = self.offload.slots();
        let mut meta = [RecvMeta::default(); RECEIVE_SLOTS];
        let mut buffer = std::mem::take(&mut self.buffer);
        let received = {
            let mut chunks = buffer.chunks_exact_mut(RECEIVE_SLOT_BYTES);
            let mut buffers: [IoSliceMut; RECEIVE_SLOTS] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            self.state
                .recv((&self.io).into(), &mut buffers[..slots], &mut meta[..slots])
        };
        let filled = *received.as_ref().unwrap_or(&0);
        let sender = self.channel.as_ref().map(|channel| (channel.relay, channel.token));
        for (meta, slot) in meta.iter().zip(buffer.chunks_exact(RECEIVE_SLOT_BYTES)).take(filled) {
            match &sender {
                None => each(self, meta, &slot[..meta.len]),
                Some((relay, token)) if meta.addr == *relay => {
                    for envelope in slot[..meta.len].chunks(meta.stride.max(1)) {
                        if let Some((meta, datagrams)) = unwrapped(token, envelope) {
                            each(self, &meta, datagrams);
                        }
                    }
                }
                Some(_) => {}
            }
        }
        self.buffer = buffer;
        received.map_or_else(
            |error| error.kind() != io::ErrorKind::WouldBlock,
            |filled| filled == slots,
        )
    }
}

fn is_full(state: &UdpSocketState, io: &UdpSocket, transmit: &quinn_udp::Transmit) -> bool {
    let sent = state.try_send(io.into(), transmit);
    sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

impl Channel {
    /// Wraps a transmit in an envelope, whose buffer is reused.
    fn wrap(&mut self, own: &quinn_udp::Transmit) {
        let head = Head {
            place: self.place,
            greeting: false,
            remote: own.destination,
            local: own.src_ip,
            ecn: own.ecn,
            stride: own.segment_size.and_then(|bytes| u16::try_from(bytes).ok()),
        };
        head.write(&self.token, own.contents, &mut self.envelope);
    }
}

/// Sends this worker's address until the process that has the port answers with its own.
fn greet(io: &UdpSocket, relay: SocketAddr, token: &Token, place: u8) -> io::Result<SocketAddr> {
    io.set_nonblocking(false)?;
    io.set_read_timeout(Some(GREETING_PATIENCE))?;
    let mut envelope = Vec::new();
    Head::greeting(place, relay).write(token, &[], &mut envelope);
    let mut answer = vec![0; RECEIVE_SLOT_BYTES];
    for _ in 0..MOST_GREETINGS {
        io.send_to(&envelope, relay)?;
        if let Ok((length, from)) = io.recv_from(&mut answer)
            && from == relay
            && let Some((
                Head {
                    greeting: true, remote, ..
                },
                _,
            )) = Head::read(token, &answer[..length])
        {
            return Ok(remote);
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}

/// Unwraps datagrams that the relay has put in an envelope, with metadata as if the socket were bound to the port.
/// Returns None if it is not such an envelope.
fn unwrapped<'a>(token: &Token, envelope: &'a [u8]) -> Option<(RecvMeta, &'a [u8])> {
    let (head, datagrams) = Head::read(token, envelope)?;
    let meta = RecvMeta {
        addr: head.remote,
        len: datagrams.len(),
        stride: head.stride.map_or(datagrams.len(), usize::from),
        ecn: head.ecn,
        dst_ip: head.local,
    };
    (!head.greeting && meta.len > 0).then_some((meta, datagrams))
}
