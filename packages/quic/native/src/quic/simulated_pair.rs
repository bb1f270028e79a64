//! A client and a server of quinn over a simulated path, on a virtual clock.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto as qp;

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

fn address(end: usize) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 1000 + end as u16).into()
}

pub struct Pair {
    pub now: Instant,
    /// Source addresses of the packets of each end.
    pub addresses: [SocketAddr; 2],
    /// Whether the server has clients prove their address first (Retry).
    pub retries: bool,
    path: Box<dyn FnMut(usize) -> Option<Duration>>,
    /// Packets under way with their receiver, by time of arrival.
    packets: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: u64,
    endpoints: [qp::Endpoint; 2],
    connections: [Option<(qp::ConnectionHandle, qp::Connection)>; 2],
}

impl Pair {
    /// Connects the two. `path` returns how long a packet takes that an end sends now, or None if it is lost.
    pub fn new(
        client: qp::ClientConfig,
        server: qp::ServerConfig,
        path: impl FnMut(usize) -> Option<Duration> + 'static,
    ) -> Self {
        let now = Instant::now();
        let endpoint = |server| qp::Endpoint::new(Arc::new(qp::EndpointConfig::default()), server, false, None);
        let mut endpoints = [endpoint(None), endpoint(Some(Arc::new(server)))];
        let client = endpoints[CLIENT].connect(now, client, address(SERVER), "localhost");
        Pair {
            now,
            addresses: [address(CLIENT), address(SERVER)],
            retries: false,
            path: Box::new(path),
            packets: BTreeMap::new(),
            sent: 0,
            endpoints,
            connections: [client.ok(), None],
        }
    }

    pub fn connection(&mut self, end: usize) -> &mut qp::Connection {
        &mut self.connections[end].as_mut().unwrap().1
    }

    /// Advances the clock and processes everything that is due.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            while (0..2).any(|end| self.send(end)) {}
            let timers = self.connections.iter_mut().flatten();
            let timer = timers.filter_map(|(_, connection)| connection.poll_timeout()).min();
            let arrival = self.packets.first_key_value().map(|((at, _), _)| *at);
            let next = timer.into_iter().chain(arrival).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            while let Some(first) = self.packets.first_entry()
                && first.key().0 <= self.now
            {
                let (end, packet) = first.remove();
                self.receive(end, &packet);
            }
            // As in the engine, all due events are processed before anything is sent.
            for (_, connection) in self.connections.iter_mut().flatten() {
                let mut timeouts = 0;
                while connection.poll_timeout().is_some_and(|at| at <= self.now) {
                    connection.handle_timeout(self.now);
                    timeouts += 1;
                    assert!(timeouts < 100, "a timer is set that is due already");
                }
            }
        }
        self.now = end;
    }

    fn send(&mut self, end: usize) -> bool {
        let Some((handle, connection)) = &mut self.connections[end] else {
            return false;
        };
        let mut packet = Vec::new();
        let sent = connection.poll_transmit(self.now, 1, &mut packet).is_some();
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoints[end].handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        if sent {
            self.pass(end, packet);
        }
        sent
    }

    /// Gives the path a packet that `end` sends.
    fn pass(&mut self, end: usize, packet: Vec<u8>) {
        self.sent += 1;
        if let Some(time) = (self.path)(end) {
            self.packets.insert((self.now + time, self.sent), (1 - end, packet));
        }
    }

    fn receive(&mut self, end: usize, packet: &[u8]) {
        let (now, mut answer) = (self.now, Vec::new());
        let data = BytesMut::from(packet);
        let event = self.endpoints[end].handle(now, self.addresses[1 - end], None, None, data, &mut answer);
        match event {
            Some(qp::DatagramEvent::ConnectionEvent(_, event)) => self.connection(end).handle_event(event),
            Some(qp::DatagramEvent::NewConnection(incoming))
                if self.retries && !incoming.remote_address_validated() =>
            {
                let transmit = self.endpoints[end].retry(incoming, &mut answer).unwrap();
                answer.truncate(transmit.size);
                self.pass(end, answer);
            }
            Some(qp::DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoints[end].accept(incoming, now, &mut answer, None);
                self.connections[end] = accepted.ok();
            }
            Some(qp::DatagramEvent::Response(_)) | None => {}
        }
    }

    /// Processes the events of an end. Returns why its connection was lost, if it was.
    pub fn lost(&mut self, end: usize) -> Option<qp::ConnectionError> {
        std::iter::from_fn(|| self.connection(end).poll()).find_map(|event| match event {
            qp::Event::ConnectionLost { reason } => Some(reason),
            _ => None,
        })
    }

    /// Reads the bytes of a stream that have arrived.
    pub fn read(&mut self, end: usize, id: qp::StreamId) -> Vec<u8> {
        let mut read = Vec::new();
        let mut stream = self.connection(end).recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                read.extend_from_slice(&chunk.bytes);
            }
            let _ = chunks.finalize();
        }
        read
    }
}
