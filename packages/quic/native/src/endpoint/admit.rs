//! Listening: who may begin a handshake, and how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto as qp;

use super::Endpoint;
use crate::config::{PerConnection, Settings};
use crate::error::Failure;

/// A peer that does not complete its handshake within this time is given up: an idle timeout may be long, or off.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a listening endpoint allows.
pub(super) struct Admission {
    max_sessions: usize,
    max_handshakes: usize,
    settings: PerConnection,
}

impl Endpoint {
    pub fn listen(&mut self, crypto: Arc<dyn qp::crypto::ServerConfig>, settings: &Settings) -> Result<(), Failure> {
        let mut config = qp::ServerConfig::with_crypto(crypto);
        config.transport_config(settings.transport()?);
        self.proto.set_server_config(Some(Arc::new(config)));
        self.admission = Some(Admission {
            max_sessions: settings.max_sessions as usize,
            max_handshakes: settings.max_handshakes as usize,
            settings: settings.per_connection(),
        });
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
        if self.accepted >= admission.max_sessions || self.handshaking >= admission.max_handshakes {
            let transmit = self.proto.refuse(incoming, response);
            self.socket.send(transmit, response);
        } else if self.handshaking >= admission.max_handshakes / 2 && incoming.may_retry() {
            if let Ok(transmit) = self.proto.retry(incoming, response) {
                self.socket.send(transmit, response);
            }
        } else {
            match self.proto.accept(incoming, now, response, None) {
                Ok((ch, proto)) => {
                    self.accepted += 1;
                    self.handshaking += 1;
                    self.adopt(ch, proto, settings).give_up = Some(now + ACCEPT_TIMEOUT);
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
