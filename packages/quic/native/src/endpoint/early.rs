//! Sessions that begin before their handshake is complete: 0-RTT (RFC 9001 §4.6).

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use rustls::pki_types::UnixTime;

use super::Endpoint;
use super::admit::HANDSHAKE_TIMEOUT;
use crate::bridge::error::{Failure, Source};
use crate::bridge::handle::Handle;
use crate::bridge::layout::{FLAG_EARLY, Kind};
use crate::memory::recent::Recent;
use crate::quic::connection::Phase;
use crate::quic::tls::{Client, client};

/// Maximum number of servers whose tickets an endpoint keeps; the least recently dialled one is forgotten first.
const REMEMBERED_SERVERS: usize = 256;

/// The ALPN protocol of the last session with a server; early data is valid only if it stays the same (RFC 8446
/// §4.2.10).
pub type LastProtocol = Rc<RefCell<Option<Vec<u8>>>>;

/// TLS configurations by the server's address, its name and the options used with it. Each holds its own tickets:
/// rustls resumes a session only with the configuration that began it.
pub(super) struct Tickets(Recent<(SocketAddr, String, Vec<u8>), (Client, LastProtocol)>);

impl Default for Tickets {
    fn default() -> Self {
        Tickets(Recent::new(REMEMBERED_SERVERS))
    }
}

impl Endpoint {
    /// Returns the TLS configuration of a dial that may resume and send early data.
    pub fn resumable(
        &mut self,
        remote: SocketAddr,
        server_name: &str,
        options: &[u8],
    ) -> Result<(Client, LastProtocol), Failure> {
        let key = (remote, server_name.to_owned(), options.to_vec());
        // Its tickets are dropped too, so that the certificate is verified again.
        let now = UnixTime::now();
        self.tickets
            .0
            .forget_if(&key, |(client, _)| client.valid_until.is_past(now));
        let make = |(_, _, options): &(_, _, Vec<u8>)| Ok((client(options, true)?, LastProtocol::default()));
        self.tickets.0.get(key, make)
    }

    /// Lets a dialled session begin at once if its ticket allows early data.
    pub fn begin_early(&mut self, handle: Handle, protocol: LastProtocol) {
        let Some(connection) = self.connection(handle) else {
            return;
        };
        let early = connection.proto.has_0rtt() && protocol.borrow().is_some();
        connection.last_protocol = Some(protocol);
        if early {
            connection.phase = Phase::Live;
            connection.early = true;
            // For JavaScript the dial is complete, and its timeout no longer applies.
            connection.give_up = Some(Instant::now() + HANDSHAKE_TIMEOUT);
            self.notify(Kind::Connected, [handle.index, handle.generation, FLAG_EARLY]);
        }
    }

    /// Called when the handshake of a session that began early is complete. Ends the streams that the server rejected:
    /// QUIC has forgotten them and reuses their ids.
    pub(super) fn settle_early(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if !connection.early {
            return;
        }
        connection.early = false;
        connection.note_protocol();
        let handle = connection.handle;
        let accepted = connection.incoming || connection.proto.accepted_0rtt();
        let forgotten: Vec<Handle> = if accepted {
            Vec::new()
        } else {
            connection.streams.drain().map(|(_, stream)| stream).collect()
        };
        self.no_longer_pending(index);
        if !forgotten.is_empty() {
            let number = self.number(Failure::new(
                Source::Session,
                "ERR_QUIC_EARLY_DATA_REJECTED",
                "the server did not take early data; nothing of this stream was processed, and it may be opened again",
            ));
            for stream in forgotten {
                if let Some(stream) = self.streams.get_mut(stream) {
                    stream.forget();
                }
                self.notify_stream(Kind::StreamClosed, stream, [number, 0]);
            }
        }
        self.notify(Kind::Ready, [handle.index, handle.generation, u32::from(accepted)]);
    }
}
