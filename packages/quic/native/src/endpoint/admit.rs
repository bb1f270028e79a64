//! Admission: which peers may begin a handshake, and how.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto as qp;

use super::Endpoint;
use super::pending::Pending;
use crate::bridge::error::Failure;
use crate::bridge::layout::Settings;
use crate::quic::config::{PerConnection, Remote};
use crate::quic::tls::{ClientVerifier, Server};

/// A dialled session that began early is closed if it does not complete its handshake within this time: an idle timeout
/// may be long, or disabled.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Limits by which a listening endpoint admits connections.
pub(super) struct Admission {
    clients: Option<Arc<ClientVerifier>>,
    early_data: bool,
    config: Arc<qp::ServerConfig>,
    pub(super) limits: Limits,
    settings: PerConnection,
    /// The configuration for peers on this machine; `config` is for all others.
    nearby: Arc<qp::ServerConfig>,
}

#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Maximum number of admitted sessions.
    pub sessions: usize,
    /// Maximum number of connections of one address. 0: no limit.
    sessions_per_address: usize,
    /// Maximum number of connections without an admitted session.
    handshakes: usize,
    /// Maximum number of unfinished handshakes of one address while no other address has any.
    handshakes_per_address: usize,
    /// Time within which a connection must carry a session.
    handshake_timeout: Duration,
    /// Number of handshakes in progress from which peers must prove their address.
    retry_threshold: usize,
    /// Whether JavaScript decides when a session is admitted.
    pub manual: bool,
}

impl Limits {
    /// Maximum number of unfinished handshakes of one address while all others have `others`. It shrinks as fewer
    /// remain, so that a few addresses together cannot take them all.
    fn share(&self, others: usize) -> usize {
        let left = self.handshakes.saturating_sub(others);
        (self.handshakes_per_address * left).div_ceil(self.handshakes)
    }
}

/// Accepted connections of one address.
#[derive(Default)]
pub(super) struct Share {
    pub connections: usize,
    /// Connections without an admitted session, including those that ended before they had one.
    pub pending: usize,
}

/// Decision about a new connection.
#[derive(Debug, PartialEq)]
enum Judgement {
    Accept,
    /// The peer must first prove its address (Retry, RFC 9000 §8.1.2).
    Prove,
    /// Refuse with CONNECTION_REFUSED (RFC 9000 §20.1).
    Refuse,
}

/// Counters since the endpoint began.
#[derive(Default)]
pub(super) struct Counters {
    pub refused: u64,
    pub retried: u64,
    /// Handshakes that began and did not become sessions.
    pub failed: u64,
    /// The peer that was refused or retried last.
    turned_away: Option<(SocketAddr, qp::ConnectionId)>,
}

impl Counters {
    /// Whether this is another peer than the one turned away last: the first message of a peer takes two datagrams, and
    /// each of them is answered.
    fn is_another(&mut self, incoming: &qp::Incoming) -> bool {
        let peer = Some((incoming.remote_address(), *incoming.orig_dst_cid()));
        std::mem::replace(&mut self.turned_away, peer) != peer
    }
}

impl Endpoint {
    pub fn listen(&mut self, tls: Server, settings: &Settings) -> Result<(), Failure> {
        let mut config = qp::ServerConfig::new(tls.crypto, self.token_key.clone());
        config.transport_config(settings.accepting(Remote::Elsewhere)?);
        let mut nearby = config.clone();
        nearby.transport_config(settings.accepting(Remote::ThisMachine)?);
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
                handshakes_per_address: settings.max_handshakes_per_address as usize,
                handshake_timeout: Duration::from_secs_f64(settings.handshake_timeout_ms / 1000.0),
                manual: settings.manual_admission != 0.0,
                retry_threshold: settings.retry_threshold as usize,
            },
            settings: settings.per_connection(),
        });
        Ok(())
    }

    /// Refuses new connections from now on and keeps existing ones. A client that is refused in this way never
    /// considers its session ready.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Replaces the certificates for handshakes that begin from now on.
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
        let source = source(incoming.remote_address());
        match self.judge(&limits, source) {
            Judgement::Refuse => {
                self.counters.refused += u64::from(self.counters.is_another(&incoming));
                let transmit = self.proto.refuse(incoming, response);
                self.socket.send(transmit, response);
            }
            Judgement::Prove if incoming.may_retry() => {
                self.counters.retried += u64::from(self.counters.is_another(&incoming));
                if let Ok(transmit) = self.proto.retry(incoming, response) {
                    self.socket.send(transmit, response);
                }
            }
            Judgement::Prove | Judgement::Accept => match self.proto.accept(incoming, now, response, config) {
                Ok((ch, proto)) => {
                    self.held += 1;
                    self.handshaking += 1;
                    let share = self.by_source.entry(source).or_default();
                    share.connections += 1;
                    share.pending += 1;
                    let connection = self.adopt(ch, proto, settings);
                    connection.pending = Pending::accepted(now, limits.handshake_timeout);
                    connection.verdict = clients.as_ref().map(|clients| clients.verdict.clone());
                    connection.clients = clients;
                    connection.takes_early_data = early_data;
                    connection.source = Some(source);
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, response);
                    }
                }
            },
        }
    }

    /// Closing and draining connections hold memory until QUIC has forgotten them (RFC 9000 §10.2), so up to as many of
    /// them as live connections are allowed. An address may be forged until it is proven: proof is required from half
    /// of an address's share on, so that an attacker cannot use up the share of another address.
    fn judge(&self, limits: &Limits, source: IpAddr) -> Judgement {
        let (connections, pending) = self
            .by_source
            .get(&source)
            .map_or((0, 0), |share| (share.connections, share.pending));
        let share = limits.share(self.handshaking.saturating_sub(pending));
        let limited = limits.sessions_per_address > 0;
        // If only a handshake is required, each may become a session.
        let coming = if limits.manual { 0 } else { self.handshaking };
        if self.draining
            || self.admitted + coming >= limits.sessions
            || self.held >= (limits.sessions + limits.handshakes) * 2
            || self.handshaking >= limits.handshakes
            || pending >= share
            || (limited && connections >= limits.sessions_per_address)
        {
            Judgement::Refuse
        } else if self.handshaking >= limits.retry_threshold
            || pending * 2 >= share
            || (limited && connections >= limits.sessions_per_address / 2)
        {
            Judgement::Prove
        } else {
            Judgement::Accept
        }
    }

    /// Updates the counters after an accepted connection has ended.
    pub(super) fn dismiss(&mut self, index: usize, source: Option<IpAddr>) {
        self.pending_over(index);
        self.with_share(source, |share| share.connections -= 1);
    }

    /// Changes the counters of an address, and removes them once they are zero.
    pub(super) fn with_share(&mut self, source: Option<IpAddr>, change: impl FnOnce(&mut Share)) {
        if let Some(source) = source
            && let Some(share) = self.by_source.get_mut(&source)
        {
            change(share);
            if share.connections == 0 && share.pending == 0 {
                self.by_source.remove(&source);
            }
        }
    }
}

/// Returns the source that limits count by: an IPv4 address, or the /64 of an IPv6 address, which is usually one host's or one site's.
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
    use crate::net::bind::Sharing;
    use crate::net::socket::{Offload, Socket};
    use crate::quic::secret::Secret;

    const LIMITS: Limits = Limits {
        sessions: 10,
        sessions_per_address: 8,
        handshakes: 6,
        handshakes_per_address: 4,
        handshake_timeout: Duration::from_secs(10),
        retry_threshold: 3,
        manual: false,
    };

    /// Connections that exist when a test's connection arrives.
    #[derive(Default)]
    struct Present {
        admitted: usize,
        held: usize,
        handshaking: usize,
        draining: bool,
        /// Connections from the peer's own address.
        share: Share,
    }

    fn judged(present: Present) -> Judgement {
        let localhost = Ipv4Addr::LOCALHOST.into();
        let secret = Secret::new(&[], &[]).ok().unwrap();
        let mut endpoint = Endpoint::new(
            Socket::bind(Some(localhost), 0, Sharing::None, Offload::System)
                .ok()
                .unwrap(),
            &secret,
            None,
            false,
        );
        (endpoint.admitted, endpoint.held, endpoint.handshaking) =
            (present.admitted, present.held, present.handshaking);
        endpoint.draining = present.draining;
        endpoint.by_source.insert(localhost, present.share);
        endpoint.judge(&LIMITS, localhost)
    }

    fn own(connections: usize, pending: usize) -> Present {
        Present {
            share: Share { connections, pending },
            ..Present::default()
        }
    }

    #[test]
    fn every_limit_refuses_at_its_value_and_not_below() {
        let present = |admitted, held, handshaking| {
            judged(Present {
                admitted,
                held,
                handshaking,
                ..Present::default()
            })
        };
        assert_eq!(present(9, 31, 0), Judgement::Accept);
        assert_eq!(present(8, 10, 2), Judgement::Refuse);
        assert_eq!(present(10, 10, 0), Judgement::Refuse);
        assert_eq!(present(0, 32, 0), Judgement::Refuse);
        assert_eq!(present(4, 6, 5), Judgement::Prove);
        assert_eq!(present(3, 6, 6), Judgement::Refuse);
        assert_eq!(judged(own(8, 0)), Judgement::Refuse);
        assert_eq!(judged(own(3, 3)), Judgement::Prove);
        assert_eq!(judged(own(4, 4)), Judgement::Refuse);
    }

    #[test]
    fn an_endpoint_that_drains_refuses_everybody() {
        assert_eq!(judged(Present::default()), Judgement::Accept);
        let draining = Present {
            draining: true,
            ..Present::default()
        };
        assert_eq!(judged(draining), Judgement::Refuse);
    }

    #[test]
    fn under_load_peers_prove_their_address() {
        let handshaking = |handshaking| {
            judged(Present {
                handshaking,
                ..Present::default()
            })
        };
        assert_eq!(handshaking(2), Judgement::Accept);
        assert_eq!(handshaking(3), Judgement::Prove);
        assert_eq!(judged(own(1, 1)), Judgement::Accept);
        assert_eq!(judged(own(2, 2)), Judgement::Prove);
        assert_eq!(judged(own(3, 0)), Judgement::Accept);
        assert_eq!(judged(own(4, 0)), Judgement::Prove);
    }

    #[test]
    fn the_share_of_an_address_shrinks_with_what_others_have() {
        let limits = Limits {
            handshakes: 1000,
            handshakes_per_address: 250,
            ..LIMITS
        };
        assert_eq!(limits.share(0), 250);
        assert_eq!(limits.share(500), 125);
        assert_eq!(limits.share(999), 1);
        assert_eq!(limits.share(2000), 0);
        let (mut taken, mut addresses) = (0, 0);
        while taken < 990 {
            taken += limits.share(taken);
            addresses += 1;
        }
        assert_eq!(addresses, 16);
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        let of = |text: &str| source(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.7:1"), "192.0.2.7");
        assert_eq!(of("[::ffff:192.0.2.7]:1"), "192.0.2.7");
        assert_eq!(of("[2001:db8:1:2:3:4:5:6]:1"), "2001:db8:1:2::");
    }
}
