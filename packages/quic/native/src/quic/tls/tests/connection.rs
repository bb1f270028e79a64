use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use quinn_proto as qp;
use quinn_proto::crypto;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::transport_parameters::TransportParameters;

use super::{KEY_UPDATE, client_config, sessions, unexpected_message};
use crate::quic::secret::Secret;
use crate::quic::simulated_pair::{CLIENT, Pair, SERVER};
use crate::quic::tls::provider;

/// A client's session that sends one more message after its handshake.
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

fn connect(says: &'static [u8]) -> Pair {
    let token_key = Secret::new(&[], &[]).ok().unwrap().token_key();
    let server = qp::ServerConfig::new(sessions(false, 2), token_key);
    let tls = QuicClientConfig::try_from(client_config(provider().cipher_suites.clone())).unwrap();
    let client = qp::ClientConfig::new(Arc::new(TalkativeConfig(Arc::new(tls), says)));
    let mut pair = Pair::new(client, server, |_| Some(Duration::ZERO));
    pair.run_for(Duration::ZERO);
    pair
}

/// Whether a stream's bytes arrive.
fn carries(pair: &mut Pair, from: usize) -> bool {
    let id = pair.connection(from).streams().open(qp::Dir::Uni).unwrap();
    pair.connection(from).send_stream(id).write(b"payload").unwrap();
    pair.run_for(Duration::ZERO);
    pair.read(1 - from, id) == b"payload"
}

#[test]
fn a_client_that_says_nothing_more_stays_connected_whichever_end_changes_its_keys() {
    let mut pair = connect(&[]);
    for end in [CLIENT, SERVER, SERVER, CLIENT] {
        pair.connection(end).force_key_update();
        assert!(carries(&mut pair, end) && carries(&mut pair, 1 - end));
        // The earlier keys are dropped.
        pair.run_for(Duration::from_secs(1));
    }
    assert_eq!((pair.lost(CLIENT), pair.lost(SERVER)), (None, None));
}

#[test]
fn a_tls_message_after_the_handshake_closes_the_connection() {
    let mut pair = connect(&KEY_UPDATE);
    match pair.lost(SERVER) {
        Some(qp::ConnectionError::TransportError(error)) => assert_eq!(error.code, unexpected_message()),
        other => panic!("{other:?}"),
    }
    match pair.lost(CLIENT) {
        Some(qp::ConnectionError::ConnectionClosed(close)) => assert_eq!(close.error_code, unexpected_message()),
        other => panic!("{other:?}"),
    }
}
