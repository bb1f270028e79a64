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
use crate::net::bind::Sharing;
use crate::net::relay_envelope::{Head, Token};
use crate::net::routing::Layout;
use crate::net::socket::{Offload, Socket};

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
#[path = "relay_tests.rs"]
mod tests;
