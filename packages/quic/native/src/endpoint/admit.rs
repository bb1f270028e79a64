//! Listening: who may begin a handshake, and how.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto as qp;

use super::Endpoint;
use crate::config::{PerConnection, Remote, Settings};
use crate::error::Failure;
use crate::tls::{ClientVerifier, Server};

/// A peer that does not complete its handshake within this time is given up: an idle timeout may be long, or off.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a listening endpoint allows.
pub(super) struct Admission {
    clients: Option<Arc<ClientVerifier>>,
    early_data: bool,
    config: Arc<qp::ServerConfig>,
    limits: Limits,
    settings: PerConnection,
    /// In place of `config`, for peers on this machine.
    nearby: Arc<qp::ServerConfig>,
}

#[derive(Clone, Copy)]
struct Limits {
    sessions: usize,
    /// 0: none.
    sessions_per_address: usize,
    handshakes: usize,
    /// Handshakes in progress from which on peers must prove their address.
    retry_threshold: usize,
}

/// What becomes of a new connection.
#[derive(Debug, PartialEq)]
enum Judgement {
    Accept,
    /// The peer must first prove its address by a Retry (RFC 9000 §8.1.2).
    Prove,
    /// CONNECTION_REFUSED (RFC 9000 §20.1).
    Refuse,
}

/// Since the endpoint began.
#[derive(Default)]
pub(super) struct Counters {
    pub refused: u64,
    pub retried: u64,
    /// Handshakes that began and did not become sessions.
    pub failed: u64,
}

impl Endpoint {
    pub fn listen(&mut self, tls: Server, settings: &Settings) -> Result<(), Failure> {
        let mut config = qp::ServerConfig::new(tls.crypto, self.token_key.clone());
        config.transport_config(settings.transport(Remote::Elsewhere)?);
        let mut nearby = config.clone();
        nearby.transport_config(settings.transport(Remote::ThisMachine)?);
        let (config, nearby) = (Arc::new(config), Arc::new(nearby));
        self.proto.set_server_config(Some(config.clone()));
        self.admission = Some(Admission {
            clients: tls.clients,
            early_data: tls.early_data,
            config,
            nearby,
            limits: Limits {
                sessions: settings.max_sessions as usize,
                sessions_per_address: settings.max_sessions_per_address as usize,
                handshakes: settings.max_handshakes as usize,
                retry_threshold: settings.retry_threshold as usize,
            },
            settings: settings.per_connection(),
        });
        Ok(())
    }

    /// For handshakes that begin from now on.
    pub fn update_tls(&mut self, tls: Server) -> Result<(), Failure> {
        let admission = self.admission.as_mut().ok_or_else(Failure::endpoint_closed)?;
        Arc::make_mut(&mut admission.config).crypto = tls.crypto.clone();
        Arc::make_mut(&mut admission.nearby).crypto = tls.crypto;
        admission.clients = tls.clients;
        admission.early_data = tls.early_data;
        self.proto.set_server_config(Some(admission.config.clone()));
        Ok(())
    }

    pub(super) fn admit(&mut self, now: Instant, incoming: qp::Incoming, response: &mut Vec<u8>) {
        let Some(admission) = &self.admission else {
            self.proto.ignore(incoming);
            return;
        };
        let limits = admission.limits;
        let settings = admission.settings;
        let clients = admission.clients.clone();
        let early_data = admission.early_data;
        let nearby = Remote::of(incoming.remote_address()) == Remote::ThisMachine;
        let config = nearby.then(|| admission.nearby.clone());
        let source = (limits.sessions_per_address > 0).then(|| source(incoming.remote_address()));
        match self.judge(&limits, source) {
            Judgement::Refuse => {
                self.counters.refused += 1;
                let transmit = self.proto.refuse(incoming, response);
                self.socket.send(transmit, response);
            }
            Judgement::Prove if incoming.may_retry() => {
                self.counters.retried += 1;
                if let Ok(transmit) = self.proto.retry(incoming, response) {
                    self.socket.send(transmit, response);
                }
            }
            Judgement::Prove | Judgement::Accept => match self.proto.accept(incoming, now, response, config) {
                Ok((ch, proto)) => {
                    self.accepted += 1;
                    self.held += 1;
                    self.handshaking += 1;
                    if let Some(source) = source {
                        *self.by_source.entry(source).or_default() += 1;
                    }
                    let connection = self.adopt(ch, proto, settings);
                    connection.give_up = Some(now + HANDSHAKE_TIMEOUT);
                    connection.verdict = clients.as_ref().map(|clients| clients.verdict.clone());
                    connection.clients = clients;
                    connection.takes_early_data = early_data;
                    connection.source = source;
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, response);
                    }
                }
            },
        }
    }

    /// Closing and draining connections hold memory until QUIC has forgotten them (RFC 9000 §10.2): as many of them as
    /// sessions are allowed. An address may be forged until it is proven, so from half of an address's limit on it must
    /// be; nobody can use up the share of another.
    fn judge(&self, limits: &Limits, source: Option<IpAddr>) -> Judgement {
        let from_source = source.map_or(0, |source| self.by_source.get(&source).copied().unwrap_or(0));
        if self.accepted >= limits.sessions
            || self.held >= limits.sessions * 2
            || self.handshaking >= limits.handshakes
            || (source.is_some() && from_source >= limits.sessions_per_address)
        {
            Judgement::Refuse
        } else if self.handshaking >= limits.retry_threshold
            || (source.is_some() && from_source >= limits.sessions_per_address / 2)
        {
            Judgement::Prove
        } else {
            Judgement::Accept
        }
    }

    /// An accepted connection no longer counts as a session.
    pub(super) fn dismiss(&mut self, source: Option<IpAddr>, handshaking: bool) {
        self.accepted -= 1;
        if handshaking {
            self.handshaking -= 1;
        }
        if let Some(source) = source
            && let Some(count) = self.by_source.get_mut(&source)
        {
            *count -= 1;
            if *count == 0 {
                self.by_source.remove(&source);
            }
        }
    }
}

/// What counts as one source: an IPv4 address, or the /64 of an IPv6 address, which is usually one host's or one site's.
pub(super) fn source(remote: SocketAddr) -> IpAddr {
    match remote.ip().to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::secret::Secret;
    use crate::socket::{Sharing, Socket};

    const LIMITS: Limits = Limits {
        sessions: 10,
        sessions_per_address: 4,
        handshakes: 6,
        retry_threshold: 3,
    };

    /// How a peer is judged while `accepted`, `held` and `handshaking` connections exist, `from_source` of them its own.
    fn judged(accepted: usize, held: usize, handshaking: usize, from_source: usize) -> Judgement {
        let localhost = Ipv4Addr::LOCALHOST.into();
        let secret = Secret::new(&[], &[]).ok().unwrap();
        let mut endpoint = Endpoint::new(Socket::bind(Some(localhost), 0, Sharing::None).ok().unwrap(), &secret);
        (endpoint.accepted, endpoint.held, endpoint.handshaking) = (accepted, held, handshaking);
        endpoint.by_source.insert(localhost, from_source);
        endpoint.judge(&LIMITS, Some(localhost))
    }

    #[test]
    fn every_limit_refuses_at_its_value_and_not_below() {
        assert_eq!(judged(9, 19, 0, 0), Judgement::Accept);
        assert_eq!(judged(10, 10, 0, 0), Judgement::Refuse);
        assert_eq!(judged(0, 20, 0, 0), Judgement::Refuse);
        assert_eq!(judged(6, 6, 6, 0), Judgement::Refuse);
        assert_eq!(judged(4, 4, 0, 4), Judgement::Refuse);
    }

    #[test]
    fn under_load_peers_prove_their_address() {
        assert_eq!(judged(3, 3, 2, 1), Judgement::Accept);
        assert_eq!(judged(3, 3, 3, 1), Judgement::Prove);
        assert_eq!(judged(3, 3, 0, 2), Judgement::Prove);
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        let of = |text: &str| source(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.7:1"), "192.0.2.7");
        assert_eq!(of("[::ffff:192.0.2.7]:1"), "192.0.2.7");
        assert_eq!(of("[2001:db8:1:2:3:4:5:6]:1"), "2001:db8:1:2::");
    }
}
