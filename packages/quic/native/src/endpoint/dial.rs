//! Dials sessions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto as qp;

use super::Endpoint;
use crate::bridge::error::Failure;
use crate::bridge::handle::Handle;
use crate::bridge::layout::Settings;
use crate::memory::recent::Recent;
use crate::net::socket::Socket;
use crate::quic::config::Remote;
use crate::quic::connection::Phase;
use crate::quic::tls::{Client, client};

/// Maximum number of cached configurations of each kind.
const REMEMBERED_CONFIGURATIONS: usize = 16;

/// TLS and transport configurations, shared by sessions that were dialled with the same options.
pub(super) struct Dials {
    /// Client configurations by their options.
    clients: Recent<Vec<u8>, Client>,
    transports: Recent<(Settings, Remote), Arc<qp::TransportConfig>>,
}

impl Default for Dials {
    fn default() -> Self {
        Dials {
            clients: Recent::new(REMEMBERED_CONFIGURATIONS),
            transports: Recent::new(REMEMBERED_CONFIGURATIONS),
        }
    }
}

impl Endpoint {
    /// Returns the TLS configuration of a dial that resumes nothing.
    pub fn client(&mut self, options: &[u8]) -> Result<Client, Failure> {
        self.dials
            .clients
            .get(options.to_vec(), |options| client(options, false))
    }

    /// Replaces the socket. Dialled sessions migrate to the new path (RFC 9000 §9) with a fresh connection id, so that
    /// observers cannot link the two paths (§9.5).
    pub fn rebind(&mut self, socket: Socket) {
        self.receive();
        self.socket = socket;
        for index in 0..self.connections.len() {
            if let Some(Some(connection)) = self.connections.get_mut(index)
                && connection.phase == Phase::Live
            {
                connection.proto.local_address_changed();
                self.mark(index);
            }
        }
    }

    pub fn connect(
        &mut self,
        remote: SocketAddr,
        server_name: &str,
        tls: Client,
        settings: &Settings,
    ) -> Result<Handle, Failure> {
        if self.closing {
            return Err(Failure::endpoint_closed());
        }
        let reachable = self.socket.reachable(remote).ok_or_else(|| {
            Failure::option(format!(
                "{remote} cannot be reached from this endpoint, which is bound to {}",
                self.socket.address()
            ))
        })?;
        let mut config = qp::ClientConfig::new(tls.crypto);
        let path = (*settings, Remote::of(remote));
        config.transport_config(
            self.dials
                .transports
                .get(path, |(settings, remote)| settings.transport(*remote))?,
        );
        let (ch, proto) = self
            .proto
            .connect(Instant::now(), config, reachable, server_name)
            .map_err(|error| Failure::connect(&error, remote))?;
        let connection = self.adopt(ch, proto, settings.per_connection());
        connection.verdict = Some(tls.verdict);
        Ok(connection.handle)
    }
}
