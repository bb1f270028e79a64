use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto as qp;
use quinn_proto::crypto::Session as _;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::transport_parameters::TransportParameters;
use rustls::HandshakeKind;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::quic::{ClientConnection, Connection, KeyChange, Secrets, Version};

use super::{KEY_UPDATE, certificate, client_config, sessions, unexpected_message};
use crate::quic::tls::provider;
use crate::quic::tls::session::{ServerSession, ServerSessions};

/// Both ends of a session after the handshake, and the secrets of the client's next keys.
struct Ends {
    client: Connection,
    next: Secrets,
    server: ServerSession,
}

fn handshake(config: &Arc<rustls::ClientConfig>, sessions: &Arc<ServerSessions>) -> Ends {
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(config.clone(), Version::V1, name, vec![]).unwrap();
    let mut client = Connection::Client(client);
    let params = TransportParameters::read(qp::Side::Client, &mut &[][..]).unwrap();
    let mut server = ServerSession::new(sessions.clone(), 1, &params);
    let mut next = None;
    let mut told = 0;
    loop {
        let mut flight = Vec::new();
        if let Some(KeyChange::OneRtt { next: secrets, .. }) = client.write_hs(&mut flight) {
            next = Some(secrets);
        }
        if flight.is_empty() {
            break;
        }
        told += usize::from(server.read_handshake(&flight).unwrap());
        loop {
            let mut answer = Vec::new();
            let keys = server.write_handshake(&mut answer);
            if !answer.is_empty() {
                client.read_hs(&answer).unwrap();
            } else if keys.is_none() {
                break;
            }
        }
    }
    assert_eq!(told, 1);
    assert!(!client.is_handshaking() && !server.is_handshaking());
    let next = next.unwrap();
    Ends { client, next, server }
}

fn protocol_and_name(server: &ServerSession) -> (Vec<u8>, String) {
    let data = server
        .handshake_data()
        .unwrap()
        .downcast::<HandshakeData>()
        .ok()
        .unwrap();
    (data.protocol.unwrap(), data.server_name.unwrap())
}

fn identity(server: &ServerSession) -> Option<Vec<CertificateDer<'static>>> {
    Some(*server.peer_identity()?.downcast().ok()?)
}

#[test]
fn when_the_handshake_is_over_what_was_negotiated_is_there_and_tls_has_gone() {
    for asks in [false, true] {
        let ends = handshake(&client_config(provider().cipher_suites.clone()), &sessions(asks, 2));
        assert!(!ends.server.holds_tls());
        assert_eq!(
            protocol_and_name(&ends.server),
            (b"ours".to_vec(), "localhost".to_owned())
        );
        assert_eq!(identity(&ends.server), asks.then(|| vec![certificate()]));
        assert!(ends.server.early_crypto().is_none());
        assert!(ends.server.transport_parameters().unwrap().is_none());
    }
}

#[test]
fn keying_material_is_the_clients_with_every_suite() {
    for suite in &provider().cipher_suites {
        let ends = handshake(&client_config(vec![*suite]), &sessions(false, 0));
        for (label, context, length) in [
            (&b"label"[..], &b""[..], 32),
            (b"label", b"context", 32),
            (b"", b"", 1),
            (&[b'x'; 249], &[1; 1000], 255 * 32),
        ] {
            let (mut ours, theirs) = (vec![0; length], vec![0; length]);
            let theirs = ends.client.export_keying_material(theirs, label, Some(context));
            ends.server.export_keying_material(&mut ours, label, context).unwrap();
            assert_eq!(ours, theirs.unwrap(), "{suite:?}");
        }
        for (label, length) in [(5, 255 * 48 + 1), (5, 1 << 16), (250, 32)] {
            let exported = ends
                .server
                .export_keying_material(&mut vec![0; length], &vec![b'x'; label], b"");
            assert!(exported.is_err());
        }
    }
}

#[test]
fn there_is_no_keying_material_before_the_handshake_is_complete() {
    let params = TransportParameters::read(qp::Side::Client, &mut &[][..]).unwrap();
    let mut server = ServerSession::new(sessions(false, 0), 1, &params);
    let name = ServerName::try_from("localhost").unwrap();
    let config = client_config(provider().cipher_suites.clone());
    let mut client = ClientConnection::new(config, Version::V1, name, vec![]).unwrap();
    let mut hello = Vec::new();
    assert!(server.export_keying_material(&mut [0; 32], b"label", b"").is_err());
    assert!(client.write_hs(&mut hello).is_none());
    assert!(server.read_handshake(&hello).unwrap());
    while server.write_handshake(&mut Vec::new()).is_some() {}
    assert!(server.holds_tls() && server.is_handshaking());
    assert!(server.export_keying_material(&mut [0; 32], b"label", b"").is_err());
}

#[test]
fn the_keys_of_later_phases_are_the_clients() {
    let mut ends = handshake(&client_config(provider().cipher_suites.clone()), &sessions(false, 0));
    for phase in 1..4 {
        let (theirs, ours) = (ends.next.next_packet_keys(), ends.server.next_1rtt_keys().unwrap());
        let mut packet = b"payload".to_vec();
        let tag = theirs.local.encrypt_in_place(phase, b"header", &mut packet).unwrap();
        packet.extend_from_slice(tag.as_ref());
        let mut packet = BytesMut::from(&packet[..]);
        ours.remote.decrypt(phase, b"header", &mut packet).unwrap();
        assert_eq!(&packet[..], b"payload");
    }
}

#[test]
fn tickets_leave_before_tls_goes_and_a_resumed_session_knows_the_client() {
    let (config, sessions) = (client_config(provider().cipher_suites.clone()), sessions(true, 2));
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let ends = handshake(&config, &sessions);
        assert_eq!(ends.client.handshake_kind(), Some(kind));
        assert!(!ends.server.holds_tls());
        assert_eq!(identity(&ends.server), Some(vec![certificate()]));
        let Connection::Client(client) = &ends.client else {
            unreachable!()
        };
        assert_eq!(client.tls13_tickets_received(), 2);
    }
}

#[test]
fn what_a_client_says_after_the_handshake_is_unexpected() {
    let mut ends = handshake(&client_config(provider().cipher_suites.clone()), &sessions(false, 0));
    assert_eq!(ends.server.read_handshake(&[]), Ok(false));
    for message in [&KEY_UPDATE[..], &[24], &[0; 2000]] {
        let error = ends.server.read_handshake(message).unwrap_err();
        assert_eq!(error.code, unexpected_message());
    }
    assert!(ends.server.write_handshake(&mut Vec::new()).is_none());
}
