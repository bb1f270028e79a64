//! A UDP port for several workers on systems whose kernel cannot steer packets (`port_group.rs`): one process has the port
//! and relays each datagram to the worker that made its connection id, over sockets of the loopback interface.
//! Datagrams of workers return the same way. Two threads, one for each direction, run independently of JavaScript.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use polling::Events;
use quinn_udp::RecvMeta;

use crate::bridge::error::Failure;
use crate::ffi::watched::Watched;
use crate::net::relay_envelope::{Head, Token};
use crate::net::routing::Layout;
use crate::net::socket::{Offload, Sharing, Socket};

/// Places fit in a byte, with room to spare.
const MOST_PLACES: usize = 128;
/// Maximum bytes of the datagrams in one envelope, which is itself a datagram.
const MOST_BYTES: usize = 60_000;
/// Maximum number of receive calls between checks whether the relay must end.
const MOST_CALLS: usize = 64;
/// Interval and number of retries while the port's socket has no room. After that the datagram is dropped, as in a
/// network.
const PAUSE: Duration = Duration::from_micros(100);
const MOST_PAUSES: usize = 10;

/// RFC 9000 §17.2: the first bit of a long header.
const LONG_HEADER: u8 = 0x80;
/// Offset of the length of a long header's destination connection id; the id follows it.
const LENGTH_AT: usize = 5;
const LONG_ID_AT: usize = 6;
/// Offset of the destination connection id of a short header (§17.3).
const SHORT_ID_AT: usize = 1;

/// The place of the worker that receives a packet, by the same rules as the kernel's program in `port_group.rs`. None for a
/// truncated packet.
fn place_of(packet: &[u8], places: usize, accepting: &[u8], layout: Layout) -> Option<usize> {
    let by_id = |at: usize| Some(usize::from(*packet.get(at + layout.place_at)?) % places);
    if packet.first()? & LONG_HEADER == 0 {
        return by_id(SHORT_ID_AT);
    }
    let is_own = usize::from(*packet.get(LENGTH_AT)?) == layout.bytes
        && layout.first.is_none_or(|first| packet.get(LONG_ID_AT) == Some(&first));
    if is_own {
        return by_id(LONG_ID_AT);
    }
    let word = packet.get(LONG_ID_AT..)?.first_chunk::<4>()?;
    let index = u32::from_be_bytes(*word) as usize % accepting.len();
    Some(usize::from(accepting[index]))
}

/// Routing table of a relay.
struct Routes {
    /// Addresses of the workers by their places, each known after its greeting.
    workers: Vec<Option<SocketAddr>>,
    /// The places that receive new clients.
    accepting: Vec<u8>,
    /// The places without a worker: their packets go to the first accepting place.
    empty: Vec<u8>,
}

struct Shared {
    token: Token,
    layout: Layout,
    /// The port's own address.
    address: SocketAddr,
    routes: Mutex<Routes>,
    over: AtomicBool,
}

impl Shared {
    /// Code that holds this lock does not panic, so a poisoned lock is still valid.
    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Relay {
    shared: Arc<Shared>,
    watched: Vec<Arc<Watched>>,
    threads: Vec<JoinHandle<()>>,
    channel_port: u16,
}

impl Relay {
    pub fn bind(
        host: Option<IpAddr>,
        port: u16,
        offload: Offload,
        places: usize,
        token: Token,
        layout: Layout,
    ) -> Result<Self, Failure> {
        if places == 0 || places > MOST_PLACES {
            return Err(Failure::option(format!(
                "places must be 1 to {MOST_PLACES}, not {places}"
            )));
        }
        let incoming = Socket::bind(host, port, Sharing::None, offload)?;
        let outgoing = incoming.duplicate()?;
        let channel = Socket::bind(Some(Ipv4Addr::LOCALHOST.into()), 0, Sharing::None, offload)?;
        let channel_port = channel.address().port();
        let to_workers = channel.io().try_clone().map_err(failed)?;
        let shared = Arc::new(Shared {
            token,
            layout,
            address: incoming.address(),
            routes: Mutex::new(Routes {
                workers: vec![None; places],
                accepting: (0..places as u8).collect(),
                empty: Vec::new(),
            }),
            over: AtomicBool::new(false),
        });
        let mut relay = Relay {
            shared: shared.clone(),
            watched: Vec::new(),
            threads: Vec::new(),
            channel_port,
        };
        let mut inbound = Inbound {
            shared: shared.clone(),
            to_workers,
            envelope: Vec::new(),
        };
        relay.run(incoming, move |socket| inbound.turn(socket))?;
        let mut outbound = Outbound {
            shared,
            port: outgoing,
            answer: Vec::new(),
        };
        relay.run(channel, move |socket| outbound.turn(socket))?;
        Ok(relay)
    }

    pub fn port(&self) -> u16 {
        self.shared.address.port()
    }

    /// The port on the loopback interface that receives workers' greetings.
    pub fn channel_port(&self) -> u16 {
        self.channel_port
    }

    /// Routes new clients only to the places in `accepting`, and packets for places without a worker to the first of
    /// them.
    pub fn steer(&self, accepting: &[u8], empty: &[u8]) -> Result<(), Failure> {
        let mut routes = self.shared.routes();
        let is_place = |place: &u8| usize::from(*place) < routes.workers.len();
        if accepting.is_empty() || !accepting.iter().chain(empty).all(is_place) {
            return Err(Failure::option("new clients can only be routed to places of the group"));
        }
        routes.accepting = accepting.to_vec();
        routes.empty = empty.to_vec();
        Ok(())
    }

    /// Starts a thread that repeatedly processes what a socket receives; `turn` returns whether there may be more.
    fn run(
        &mut self,
        mut socket: Socket,
        mut turn: impl FnMut(&mut Socket) -> bool + Send + 'static,
    ) -> Result<(), Failure> {
        let copy = socket.io().try_clone().map_err(failed)?;
        let watched = Arc::new(Watched::new(copy).map_err(failed)?);
        self.watched.push(watched.clone());
        let shared = self.shared.clone();
        let body = move || {
            let mut events = Events::new();
            while !shared.over.load(Ordering::Acquire) {
                events.clear();
                if watched.poller().wait(&mut events, None).is_err() {
                    continue;
                }
                let mut more = true;
                while more && !shared.over.load(Ordering::Acquire) {
                    more = (0..MOST_CALLS).all(|_| turn(&mut socket));
                }
                watched.watch(false);
            }
        };
        let thread = std::thread::Builder::new().name("quicrpc relay".to_owned()).spawn(body);
        self.threads.push(thread.map_err(failed)?);
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        for watched in &self.watched {
            let _ = watched.poller().notify();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::system(&error, "hand packets to workers")
}

/// Relays packets from the port to the workers.
struct Inbound {
    shared: Arc<Shared>,
    to_workers: UdpSocket,
    envelope: Vec<u8>,
}

impl Inbound {
    fn turn(&mut self, port: &mut Socket) -> bool {
        port.receive(|_, meta, bytes| self.pass(meta, bytes))
    }

    /// Relays consecutive datagrams of one sender: adjacent ones for the same worker share an envelope.
    fn pass(&mut self, meta: &RecvMeta, bytes: &[u8]) {
        let Shared { token, layout, .. } = *self.shared;
        let routes = self.shared.routes();
        let stride = meta.stride.max(1);
        let place_at = |at: usize| {
            let datagram = &bytes[at..(at + stride).min(bytes.len())];
            let place = place_of(datagram, routes.workers.len(), &routes.accepting, layout)?;
            let is_empty = routes.empty.iter().any(|empty| usize::from(*empty) == place);
            Some(if is_empty {
                usize::from(routes.accepting[0])
            } else {
                place
            })
        };
        let mut at = 0;
        while at < bytes.len() {
            let place = place_at(at);
            let mut end = (at + stride).min(bytes.len());
            while end < bytes.len() && end + stride - at <= MOST_BYTES && place_at(end) == place {
                end = (end + stride).min(bytes.len());
            }
            let worker = place.and_then(|place| Some((place, routes.workers[place]?)));
            if let Some((place, worker)) = worker {
                let head = Head {
                    place: place as u8,
                    greeting: false,
                    remote: meta.addr,
                    local: meta.dst_ip,
                    ecn: meta.ecn,
                    stride: (end - at > stride).then_some(stride as u16),
                };
                head.write(&token, &bytes[at..end], &mut self.envelope);
                // A worker that reads too slowly loses datagrams, as on a network.
                let _ = self.to_workers.send_to(&self.envelope, worker);
            }
            at = end;
        }
    }
}

/// Relays packets from the workers to the port.
struct Outbound {
    shared: Arc<Shared>,
    port: Socket,
    answer: Vec<u8>,
}

impl Outbound {
    fn turn(&mut self, channel: &mut Socket) -> bool {
        channel.receive(|channel, meta, bytes| {
            for envelope in bytes.chunks(meta.stride.max(1)) {
                let read = Head::read(&self.shared.token, envelope);
                match read {
                    Some((head, _)) if head.greeting => self.greet(channel, head.place, meta.addr),
                    Some((head, datagrams)) => self.pass(&head, datagrams),
                    // Sent by another process of this machine.
                    None => {}
                }
            }
        })
    }

    fn greet(&mut self, channel: &Socket, place: u8, worker: SocketAddr) {
        let mut routes = self.shared.routes();
        let Some(known) = routes.workers.get_mut(usize::from(place)) else {
            return;
        };
        *known = Some(worker);
        Head::greeting(place, self.shared.address).write(&self.shared.token, &[], &mut self.answer);
        let _ = channel.io().send_to(&self.answer, worker);
    }

    fn pass(&self, head: &Head, datagrams: &[u8]) {
        let whole = usize::from(head.stride.unwrap_or(u16::MAX));
        // The system may have refused several at a time.
        let at_once = if self.port.max_segments(head.stride.unwrap_or(u16::MAX)) == 1 {
            whole
        } else {
            usize::MAX
        };
        for contents in datagrams.chunks(at_once) {
            let transmit = quinn_udp::Transmit {
                destination: head.remote,
                ecn: head.ecn,
                contents,
                segment_size: head.stride.map(usize::from).filter(|stride| *stride < contents.len()),
                src_ip: head.local,
            };
            for _ in 0..MOST_PAUSES {
                if !self.port.is_full_for(&transmit) {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::shared_port_ids::{GROUP_ID_BYTES, GROUP_LAYOUT};

    const TOKEN: Token = [3; 16];
    const PLACES: usize = 3;

    fn short(place: u8) -> Vec<u8> {
        [&[0x40, place][..], &[7; 30]].concat()
    }

    fn long(id: &[u8]) -> Vec<u8> {
        [&[0xc0, 0, 0, 0, 1, id.len() as u8][..], id, &[0; 30]].concat()
    }

    fn relay() -> Relay {
        Relay::bind(
            Some(Ipv4Addr::LOCALHOST.into()),
            0,
            Offload::System,
            PLACES,
            TOKEN,
            GROUP_LAYOUT,
        )
        .ok()
        .unwrap()
    }

    fn join(relay: &Relay, place: u8) -> Socket {
        Socket::join(relay.channel_port(), TOKEN, place, Offload::System)
            .ok()
            .unwrap()
    }

    /// Returns the next datagram that a worker's socket receives, and its sender.
    fn next(socket: &mut Socket) -> (SocketAddr, Vec<u8>) {
        for _ in 0..5000 {
            let mut got = None;
            socket.receive(|_, meta, bytes| got = Some((meta.addr, bytes.to_vec())));
            if let Some(got) = got {
                return got;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("nothing came");
    }

    fn client() -> UdpSocket {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
    }

    #[test]
    fn packets_go_to_the_worker_that_made_their_connection_id_and_answers_leave_by_the_port() {
        let relay = relay();
        let mut workers: Vec<Socket> = (0..PLACES as u8).map(|place| join(&relay, place)).collect();
        let address = relay.shared.address;
        for (place, worker) in workers.iter_mut().enumerate() {
            assert_eq!(worker.address(), address);
            let client = client();
            client.send_to(&short(place as u8), address).unwrap();
            let (from, packet) = next(worker);
            assert_eq!((from, packet), (client.local_addr().unwrap(), short(place as u8)));
            let mut id = [9; GROUP_ID_BYTES];
            id[0] = place as u8;
            client.send_to(&long(&id), address).unwrap();
            assert_eq!(next(worker).1, long(&id));
            worker.send(
                quinn_proto::Transmit {
                    destination: from,
                    ecn: None,
                    size: 5,
                    segment_size: Some(3),
                    src_ip: None,
                },
                b"ab345",
            );
            let mut buffer = [0; 64];
            let (length, sender) = client.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..length], sender), (&b"ab3"[..], address));
            let (length, _) = client.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"45");
        }
    }

    #[test]
    fn new_clients_go_to_places_that_accept_and_the_next_worker_of_a_place_takes_it() {
        let relay = relay();
        let (_old, mut other) = (join(&relay, 1), join(&relay, 2));
        let mut next_one = join(&relay, 1);
        relay.steer(&[1], &[]).ok().unwrap();
        for id in 0..20 {
            client().send_to(&long(&[id; 8]), relay.shared.address).unwrap();
            assert_eq!(next(&mut next_one).1, long(&[id; 8]));
        }
        relay.steer(&[2], &[]).ok().unwrap();
        client().send_to(&long(&[1; 8]), relay.shared.address).unwrap();
        assert_eq!(next(&mut other).1, long(&[1; 8]));
        client().send_to(&short(1), relay.shared.address).unwrap();
        assert_eq!(next(&mut next_one).1, short(1));
        relay.steer(&[2], &[1]).ok().unwrap();
        client().send_to(&short(1), relay.shared.address).unwrap();
        assert_eq!(next(&mut other).1, short(1));
        assert!(relay.steer(&[], &[]).is_err());
        assert!(relay.steer(&[3], &[]).is_err());
        assert!(relay.steer(&[0], &[3]).is_err());
    }

    #[test]
    fn who_does_not_know_the_token_is_not_heard_and_takes_no_place() {
        let relay = relay();
        let mut worker = join(&relay, 0);
        let channel = (Ipv4Addr::LOCALHOST, relay.channel_port());
        let (stranger, victim) = (client(), client());
        let mut forged = Vec::new();
        Head::greeting(0, relay.shared.address).write(&[4; 16], &[], &mut forged);
        stranger.send_to(&forged, channel).unwrap();
        let mut head = Head::greeting(0, victim.local_addr().unwrap());
        head.greeting = false;
        head.write(&[4; 16], b"forged", &mut forged);
        stranger.send_to(&forged, channel).unwrap();
        head.write(&TOKEN, b"genuine", &mut forged);
        worker.io().send_to(&forged, channel).unwrap();
        let mut buffer = [0; 64];
        let length = victim.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"genuine");
        stranger.send_to(&short(0), relay.shared.address).unwrap();
        assert_eq!(next(&mut worker).0, stranger.local_addr().unwrap());
        // A worker also ignores packets that did not come through the relay.
        head.write(&[4; 16], b"forged", &mut forged);
        stranger.send_to(&forged, worker.io().local_addr().unwrap()).unwrap();
        head.write(&TOKEN, b"forged", &mut forged);
        stranger.send_to(&forged, worker.io().local_addr().unwrap()).unwrap();
        stranger.send_to(&short(3), relay.shared.address).unwrap();
        assert_eq!(next(&mut worker).1, short(3));
        assert!(Socket::join(relay.channel_port(), [4; 16], 0, Offload::System).is_err());
    }

    #[test]
    fn packets_of_places_without_a_worker_and_such_as_are_cut_off_are_dropped() {
        let relay = relay();
        let mut worker = join(&relay, 0);
        let client = client();
        for packet in [
            &[][..],
            &[0x40],
            &[0xc0],
            &[0xc0, 0, 0, 0, 1],
            &[0xc0, 0, 0, 0, 1, 8, 1],
        ] {
            client.send_to(packet, relay.shared.address).unwrap();
        }
        client.send_to(&short(1), relay.shared.address).unwrap();
        client.send_to(&short(0), relay.shared.address).unwrap();
        assert_eq!(next(&mut worker).1, short(0));
    }

    #[test]
    fn a_worker_that_does_not_read_holds_up_nobody() {
        let relay = relay();
        let (_stopped, mut other) = (join(&relay, 0), join(&relay, 1));
        let client = client();
        let flood = [short(0), vec![7; 1000]].concat();
        // More than any socket's buffer holds.
        for _ in 0..20_000 {
            client.send_to(&flood, relay.shared.address).unwrap();
        }
        let mut got = false;
        while !got {
            client.send_to(&short(1), relay.shared.address).unwrap();
            other.receive(|_, _, bytes| got = bytes == short(1));
        }
    }

    #[test]
    fn a_port_that_is_taken_is_and_is_free_after_the_relay() {
        let first = relay();
        let (address, host) = (first.shared.address, Some(first.shared.address.ip()));
        let again = || Relay::bind(host, address.port(), Offload::System, PLACES, TOKEN, GROUP_LAYOUT);
        assert_eq!(again().err().unwrap().code, "EADDRINUSE");
        drop(first);
        assert!(again().is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_and_the_relay_find_the_same_place() {
        use std::os::fd::FromRawFd;
        let host = Some(Ipv4Addr::LOCALHOST.into());
        let routed = Layout {
            place_at: 9,
            bytes: 14,
            first: Some(0x2d),
        };
        for layout in [GROUP_LAYOUT, routed] {
            let (address, descriptors) = crate::net::port_group::bind(host, 0, PLACES, layout).ok().unwrap();
            crate::net::port_group::steer(&descriptors, &[2, 0], &[], layout)
                .ok()
                .unwrap();
            let sockets: Vec<UdpSocket> = descriptors
                .iter()
                .map(|fd| crate::net::port_group::adopt(*fd).ok().unwrap())
                .collect();
            let mut seed = 1u32;
            let mut random = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            };
            for round in 0..300 {
                let mut packet: Vec<u8> = (0..60).map(|_| random()).collect();
                packet[5] = [layout.bytes as u8, 8, 20][round % 3];
                if round % 2 == 0 {
                    packet[6] = 0x2d;
                }
                client().send_to(&packet, address).unwrap();
                let got = |socket: &UdpSocket| socket.recv(&mut [0; 64]).is_ok();
                let mut place = None;
                while place.is_none() {
                    place = sockets.iter().position(got);
                }
                assert_eq!(place, place_of(&packet, PLACES, &[2, 0], layout));
            }
            for fd in descriptors {
                // SAFETY: they are this test's own.
                #[allow(unsafe_code)]
                drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) });
            }
        }
    }
}
