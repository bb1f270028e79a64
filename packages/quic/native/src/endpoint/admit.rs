//! Listening: who may begin a handshake, and how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto as qp;

use super::Endpoint;
use crate::config::{PerConnection, Remote, Settings};
use crate::error::Failure;
use crate::tls::{Server, Verdict};

/// A peer that does not complete its handshake within this time is given up: an idle timeout may be long, or off.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a listening endpoint allows.
pub(super) struct Admission {
    verdict: Option<Verdict>,
    config: Arc<qp::ServerConfig>,
    max_sessions: usize,
    max_handshakes: usize,
    settings: PerConnection,
    /// In place of the config's, for peers on this machine.
    nearby: Arc<qp::TransportConfig>,
}

impl Endpoint {
    pub fn listen(&mut self, tls: Server, settings: &Settings) -> Result<(), Failure> {
        let mut config = qp::ServerConfig::new(tls.crypto, self.token_key.clone());
        config.transport_config(settings.transport(Remote::Elsewhere)?);
        let config = Arc::new(config);
        self.proto.set_server_config(Some(config.clone()));
        self.admission = Some(Admission {
            verdict: tls.verdict,
            config,
            max_sessions: settings.max_sessions as usize,
            max_handshakes: settings.max_handshakes as usize,
            settings: settings.per_connection(),
            nearby: settings.transport(Remote::ThisMachine)?,
        });
        Ok(())
    }

    /// For handshakes that begin from now on.
    pub fn update_tls(&mut self, tls: Server) -> Result<(), Failure> {
        let admission = self.admission.as_mut().ok_or_else(Failure::endpoint_closed)?;
        let mut config = qp::ServerConfig::clone(&admission.config);
        config.crypto = tls.crypto;
        admission.config = Arc::new(config);
        admission.verdict = tls.verdict;
        self.proto.set_server_config(Some(admission.config.clone()));
        Ok(())
    }

    /// Over the session limit or with too many handshakes open, the peer is refused (RFC 9000 §20.1,
    /// CONNECTION_REFUSED); from half of the handshake limit on, it must first prove its address (§8.1.2).
    pub(super) fn admit(&mut self, now: Instant, incoming: qp::Incoming, response: &mut Vec<u8>) {
        let Some(admission) = &self.admission else {
            self.proto.ignore(incoming);
            return;
        };
        let settings = admission.settings;
        let verdict = admission.verdict.clone();
        if self.accepted >= admission.max_sessions || self.handshaking >= admission.max_handshakes {
            let transmit = self.proto.refuse(incoming, response);
            self.socket.send(transmit, response);
        } else if self.handshaking >= admission.max_handshakes / 2 && incoming.may_retry() {
            if let Ok(transmit) = self.proto.retry(incoming, response) {
                self.socket.send(transmit, response);
            }
        } else {
            let nearby = Remote::of(incoming.remote_address()) == Remote::ThisMachine;
            let config = nearby.then(|| {
                let mut config = qp::ServerConfig::clone(&admission.config);
                config.transport_config(admission.nearby.clone());
                Arc::new(config)
            });
            match self.proto.accept(incoming, now, response, config) {
                Ok((ch, proto)) => {
                    self.accepted += 1;
                    self.handshaking += 1;
                    let connection = self.adopt(ch, proto, settings);
                    connection.give_up = Some(now + ACCEPT_TIMEOUT);
                    connection.verdict = verdict;
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, response);
                    }
                }
            }
        }
    }
}
