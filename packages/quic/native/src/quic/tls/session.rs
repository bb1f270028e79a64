//! A server's TLS session, which frees rustls's connection after the handshake. A client sends nothing more to TLS (RFC
//! 9001 §4.4, §6), and a server sends nothing after its tickets. The values needed later are kept: keys of the next
//! phase, keying material, protocol, key exchange group, name and certificates.

use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

use quinn_proto as qp;
use quinn_proto::crypto::rustls::{HandshakeData, NoInitialCipherSuite, QuicServerConfig};
use quinn_proto::crypto::{
    ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use rustls::pki_types::CertificateDer;
use rustls::quic::{KeyChange, Secrets, ServerConnection, Version};
use rustls::{AlertDescription, Error, NamedGroup};

use super::exporter::{Exporter, ServerKeyLog};

/// Begins sessions as `QuicServerConfig` does, whose sessions keep all TLS state to their end.
pub struct ServerSessions {
    tls: Arc<rustls::ServerConfig>,
    quic: QuicServerConfig,
}

impl ServerSessions {
    pub fn new(mut tls: rustls::ServerConfig) -> Result<Self, NoInitialCipherSuite> {
        tls.key_log = Arc::new(ServerKeyLog);
        let tls = Arc::new(tls);
        let quic = QuicServerConfig::try_from(tls.clone())?;
        Ok(ServerSessions { tls, quic })
    }
}

impl ServerConfig for ServerSessions {
    fn initial_keys(&self, version: u32, dst_cid: &qp::ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.quic.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &qp::ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.quic.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(ServerSession::new(self, version, params))
    }
}

pub struct ServerSession {
    sessions: Arc<ServerSessions>,
    version: u32,
    /// Whether quinn has been notified of the handshake data.
    told: bool,
    /// Present until the handshake is complete and all TLS output has been taken.
    tls: Option<Box<ServerConnection>>,
    next_secrets: Option<Secrets>,
    exporter: Option<Exporter>,
    /// The negotiated protocol, name and chain, after `tls` was freed.
    protocol: Option<Box<[u8]>>,
    group: Option<NamedGroup>,
    server_name: Option<Box<str>>,
    certificates: Option<Box<[CertificateDer<'static>]>>,
}

impl ServerSession {
    pub fn new(sessions: Arc<ServerSessions>, version: u32, params: &TransportParameters) -> Self {
        let mut bytes = Vec::new();
        params.write(&mut bytes);
        // QUIC 1, or a draft of it, which differs only in labels and salts. Other versions are not passed here.
        let draft = (0xff00_001d..=0xff00_0020).contains(&version);
        let of_tls = if draft { Version::V1Draft } else { Version::V1 };
        let tls = ServerConnection::new(sessions.tls.clone(), of_tls, bytes).map(Box::new);
        ServerSession {
            sessions,
            version,
            told: false,
            // Fails only for configurations that `QuicServerConfig` refuses, and sizes of early data that no server here has.
            tls: Some(tls.expect("a configuration for QUIC")),
            next_secrets: None,
            exporter: None,
            protocol: None,
            group: None,
            server_name: None,
            certificates: None,
        }
    }

    #[cfg(test)]
    pub fn holds_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Keeps the values needed later and frees the rest, once TLS has nothing more to do.
    fn give_up_tls(&mut self) {
        let Some(tls) = self.tls.take_if(|tls| !tls.is_handshaking()) else {
            return;
        };
        self.protocol = tls.alpn_protocol().map(Into::into);
        self.group = tls.negotiated_key_exchange_group().map(|group| group.name());
        self.server_name = tls.server_name().map(Into::into);
        self.certificates = tls.peer_certificates().map(|chain| {
            chain
                .iter()
                .map(|certificate| certificate.clone().into_owned())
                .collect()
        });
    }
}

impl Session for ServerSession {
    fn initial_keys(&self, dst_cid: &qp::ConnectionId, _: qp::Side) -> Keys {
        self.sessions
            .initial_keys(self.version, dst_cid)
            .unwrap_or_else(|_| unreachable!("the version has been looked at"))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        if !self.told {
            return None;
        }
        let (protocol, server_name, group) = match &self.tls {
            Some(tls) => {
                let group = tls.negotiated_key_exchange_group().map(|group| group.name());
                (tls.alpn_protocol(), tls.server_name(), group)
            }
            None => (self.protocol.as_deref(), self.server_name.as_deref(), self.group),
        };
        Some(Box::new(HandshakeData {
            protocol: protocol.map(Into::into),
            server_name: server_name.map(Into::into),
            negotiated_key_exchange_group: group.unwrap_or(NamedGroup::Unknown(0)),
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let chain = match &self.tls {
            Some(tls) => tls.peer_certificates(),
            None => self.certificates.as_deref(),
        };
        let owned = |certificate: &CertificateDer<'_>| certificate.clone().into_owned();
        Some(Box::new(chain?.iter().map(owned).collect::<Vec<_>>()))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.tls.as_ref()?.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    /// Only clients ask this.
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, qp::TransportError> {
        let Some(tls) = &mut self.tls else {
            return if bytes.is_empty() { Ok(false) } else { Err(unexpected()) };
        };
        let (read, exporter) = Exporter::found_in(|| tls.read_hs(bytes));
        if let Some(secret) = exporter {
            self.exporter = Exporter::new(secret, tls.negotiated_cipher_suite());
        }
        read.map_err(|error| failure(&error, tls.alert()))?;
        // rustls does not say when it has read the client's first message.
        let ready = tls.alpn_protocol().is_some() || tls.server_name().is_some() || !tls.is_handshaking();
        Ok(ready && !std::mem::replace(&mut self.told, true))
    }

    /// Only asked during the handshake.
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, qp::TransportError> {
        let Some(bytes) = self.tls.as_ref().and_then(|tls| tls.quic_transport_parameters()) else {
            return Ok(None);
        };
        Ok(Some(TransportParameters::read(
            qp::Side::Server,
            &mut Cursor::new(bytes),
        )?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let before = out.len();
        let keys = match self.tls.as_mut()?.write_hs(out) {
            Some(KeyChange::Handshake { keys }) => keys,
            Some(KeyChange::OneRtt { keys, next }) => {
                self.next_secrets = Some(next);
                keys
            }
            None => {
                if out.len() == before {
                    self.give_up_tls();
                }
                return None;
            }
        };
        Some(Keys {
            header: KeyPair {
                local: Box::new(keys.local.header),
                remote: Box::new(keys.remote.header),
            },
            packet: KeyPair {
                local: Box::new(keys.local.packet),
                remote: Box::new(keys.remote.packet),
            },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next_secrets.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys.local),
            remote: Box::new(keys.remote),
        })
    }

    /// Always false: only clients receive Retry packets.
    fn is_valid_retry(&self, _: &qp::ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let exporter = self.exporter.as_ref().filter(|_| !self.is_handshaking());
        let exported = exporter.is_some_and(|exporter| exporter.export(output, label, context));
        if exported {
            Ok(())
        } else {
            Err(ExportKeyingMaterialError)
        }
    }
}

/// The error of a message after the handshake: a client must not send any (RFC 9001 §4.4, §6).
fn unexpected() -> qp::TransportError {
    qp::TransportError {
        code: qp::TransportErrorCode::crypto(AlertDescription::UnexpectedMessage.into()),
        frame: None,
        reason: "a TLS message after the handshake".into(),
    }
}

fn failure(error: &Error, alert: Option<AlertDescription>) -> qp::TransportError {
    let (code, reason) = match alert {
        Some(alert) => (qp::TransportErrorCode::crypto(alert.into()), error.to_string()),
        None => (
            qp::TransportErrorCode::PROTOCOL_VIOLATION,
            format!("TLS error: {error}"),
        ),
    };
    qp::TransportError {
        code,
        frame: None,
        reason,
    }
}
