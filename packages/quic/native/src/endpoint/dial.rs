//! Dialling.

use std::net::SocketAddr;
use std::time::Instant;

use quinn_proto as qp;

use super::Endpoint;
use crate::config::{Remote, Settings};
use crate::error::Failure;
use crate::handle::Handle;
use crate::tls::Client;

impl Endpoint {
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
        config.transport_config(settings.transport(Remote::of(remote))?);
        let (ch, proto) = self
            .proto
            .connect(Instant::now(), config, reachable, server_name)
            .map_err(|error| Failure::connect(&error, remote))?;
        let connection = self.adopt(ch, proto, settings.per_connection());
        connection.verdict = Some(tls.verdict);
        Ok(connection.handle)
    }
}
