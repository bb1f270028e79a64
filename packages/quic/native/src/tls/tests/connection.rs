use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto as qp;
use quinn_proto::crypto;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::transport_parameters::TransportParameters;

use super::{KEY_UPDATE, client_config, sessions, unexpected_message};
use crate::secret::Secret;
use crate::tls::provider;

/// A client's session that says one thing more when its handshake is complete.
struct Talkative {
    session: Box<dyn crypto::Session>,
    says: &'static [u8],
}

impl crypto::Session for Talkative {
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<crypto::Keys> {
        let keys = self.session.write_handshake(out);
        if keys.is_none() && out.is_empty() && !self.session.is_handshaking() {
            out.extend_from_slice(std::mem::take(&mut self.says));
        }
        keys
    }
    fn initial_keys(&self, dst_cid: &qp::ConnectionId, side: qp::Side) -> crypto::Keys {
        self.session.initial_keys(dst_cid, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        self.session.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, qp::TransportError> {
        self.session.read_handshake(bytes)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, qp::TransportError> {
        self.session.transport_parameters()
    }
    fn next_1rtt_keys(&mut self) -> Option<crypto::KeyPair<Box<dyn crypto::PacketKey>>> {
        self.session.next_1rtt_keys()
    }
    fn is_valid_retry(&self, dst_cid: &qp::ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.session.is_valid_retry(dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), crypto::ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}

struct TalkativeConfig(Arc<QuicClientConfig>, &'static [u8]);

impl crypto::ClientConfig for TalkativeConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, qp::ConnectError> {
        let session = self.0.clone().start_session(version, name, params)?;
        Ok(Box::new(Talkative { session, says: self.1 }))
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

fn address(end: usize) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 1000 + end as u16).into()
}

/// A client and a server of quinn, without a network.
struct Pair {
    now: Instant,
    endpoints: [qp::Endpoint; 2],
    connections: [Option<(qp::ConnectionHandle, qp::Connection)>; 2],
}

impl Pair {
    fn connect(says: &'static [u8]) -> Self {
        let now = Instant::now();
        let token_key = Secret::new(&[], &[]).ok().unwrap().token_key();
        let server = qp::ServerConfig::new(sessions(false, 2), token_key);
        let tls = QuicClientConfig::try_from(client_config(provider().cipher_suites.clone())).unwrap();
        let config = qp::ClientConfig::new(Arc::new(TalkativeConfig(Arc::new(tls), says)));
        let endpoint = |server| qp::Endpoint::new(Arc::new(qp::EndpointConfig::default()), server, false, None);
        let mut endpoints = [endpoint(None), endpoint(Some(Arc::new(server)))];
        let client = endpoints[CLIENT].connect(now, config, address(SERVER), "localhost");
        let mut pair = Pair {
            now,
            endpoints,
            connections: [client.ok(), None],
        };
        pair.drive();
        pair
    }

    fn connection(&mut self, end: usize) -> &mut qp::Connection {
        &mut self.connections[end].as_mut().unwrap().1
    }

    /// Passes packets on until there are none.
    fn drive(&mut self) {
        while (0..2).any(|end| self.send(end)) {}
    }

    /// Lets a second pass, with all that is due in it.
    fn wait(&mut self) {
        self.now += Duration::from_secs(1);
        for end in 0..2 {
            let now = self.now;
            self.connection(end).handle_timeout(now);
        }
        self.drive();
    }

    fn send(&mut self, end: usize) -> bool {
        let Some((handle, connection)) = &mut self.connections[end] else {
            return false;
        };
        let mut packets = Vec::new();
        let sent = connection.poll_transmit(self.now, 1, &mut packets).is_some();
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoints[end].handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        if sent {
            self.receive(1 - end, &packets);
        }
        sent
    }

    fn receive(&mut self, end: usize, packets: &[u8]) {
        let (now, mut answer) = (self.now, Vec::new());
        let data = BytesMut::from(packets);
        let event = self.endpoints[end].handle(now, address(1 - end), None, None, data, &mut answer);
        match event {
            Some(qp::DatagramEvent::ConnectionEvent(_, event)) => self.connection(end).handle_event(event),
            Some(qp::DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoints[end].accept(incoming, now, &mut answer, None);
                self.connections[end] = accepted.ok();
            }
            Some(qp::DatagramEvent::Response(_)) | None => {}
        }
    }

    fn lost(&mut self, end: usize) -> Option<qp::ConnectionError> {
        std::iter::from_fn(|| self.connection(end).poll()).find_map(|event| match event {
            qp::Event::ConnectionLost { reason } => Some(reason),
            _ => None,
        })
    }

    /// Whether a stream's bytes arrive.
    fn carries(&mut self, from: usize) -> bool {
        let id = self.connection(from).streams().open(qp::Dir::Uni).unwrap();
        self.connection(from).send_stream(id).write(b"payload").unwrap();
        self.drive();
        let mut stream = self.connection(1 - from).recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return false;
        };
        let chunk = chunks.next(usize::MAX);
        let _ = chunks.finalize();
        matches!(chunk, Ok(Some(chunk)) if &chunk.bytes[..] == b"payload")
    }
}

#[test]
fn a_client_that_says_nothing_more_stays_connected_whichever_end_changes_its_keys() {
    let mut pair = Pair::connect(&[]);
    for end in [CLIENT, SERVER, SERVER, CLIENT] {
        pair.connection(end).force_key_update();
        assert!(pair.carries(end) && pair.carries(1 - end));
        // The keys before are forgotten.
        pair.wait();
    }
    assert_eq!((pair.lost(CLIENT), pair.lost(SERVER)), (None, None));
}

#[test]
fn a_tls_message_after_the_handshake_closes_the_connection() {
    let mut pair = Pair::connect(&KEY_UPDATE);
    match pair.lost(SERVER) {
        Some(qp::ConnectionError::TransportError(error)) => assert_eq!(error.code, unexpected_message()),
        other => panic!("{other:?}"),
    }
    match pair.lost(CLIENT) {
        Some(qp::ConnectionError::ConnectionClosed(close)) => assert_eq!(close.error_code, unexpected_message()),
        other => panic!("{other:?}"),
    }
}
