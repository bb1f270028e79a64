//! The accepting side: certificates by server name, client certificates, session tickets.

use std::collections::HashMap;
use std::sync::Arc;

use quinn_proto as qp;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert, ServerSessionMemoryCache};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::session::ServerSessions;
use super::tickets::SharedTickets;
use super::verify::{ClientVerifier, Verdict};
use super::{certified, parse_alpn, provider, roots};
use crate::bridge::error::Failure;
use crate::bridge::fields::Fields;

/// Maximum number of sessions that may be resumed with early data; the oldest are forgotten first.
const REMEMBERED_SESSIONS: usize = 4096;

/// Number of tickets for each handshake. The next session uses one up, and a replacement arrives a round trip after
/// that session's first reply: with a second ticket, a client that dials again before then need not make a full
/// handshake.
const TICKETS: usize = 2;

const REQUEST_CLIENT_CERTIFICATE: u8 = 1;
const REQUIRE_CLIENT_CERTIFICATE: u8 = 2;
const EARLY_DATA: u8 = 4;

pub struct Server {
    pub crypto: Arc<dyn qp::crypto::ServerConfig>,
    /// Verifies client certificates, if they are requested.
    pub clients: Option<Arc<ClientVerifier>>,
    pub early_data: bool,
}

/// Reads the configuration as written by `encodeServerTls` in `src/tls-options.ts`: ALPN wire, flags, authorities of client certificates, ticket keys, and
/// for each certificate its names (one a line), PEM chain and PEM key.
pub fn server(wire: &[u8]) -> Result<Server, Failure> {
    let mut fields = Fields::new(wire);
    let alpn = parse_alpn(fields.take());
    let flags = fields.take().first().copied().unwrap_or(0);
    let authorities = fields.take();
    let ticket_keys = fields.take();
    let early_data = flags & EARLY_DATA != 0;
    let certificates = Arc::new(Certificates::read(fields)?);

    let builder = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Failure::option(error.to_string()))?;
    let clients = if flags & REQUEST_CLIENT_CERTIFICATE == 0 {
        None
    } else {
        let required = flags & REQUIRE_CLIENT_CERTIFICATE != 0;
        let roots = roots(authorities, "clientCertificates.ca")?;
        let verifier = ClientVerifier::new(roots, required, Verdict::default())?;
        Some(Arc::new(verifier))
    };
    let mut config = match &clients {
        None => builder.with_no_client_auth(),
        Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
    }
    .with_cert_resolver(certificates);
    config.alpn_protocols = alpn;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    // Tickets cost both sides; only clients that ask for resumption use them.
    config.send_tls13_tickets = 0;
    if !ticket_keys.is_empty() {
        let client_auth = flags & (REQUEST_CLIENT_CERTIFICATE | REQUIRE_CLIENT_CERTIFICATE);
        let made_under = [&[client_auth], authorities].concat();
        config.ticketer = Arc::new(SharedTickets::new(ticket_keys, made_under)?);
        config.send_tls13_tickets = TICKETS;
    } else if early_data {
        // A remembered session is taken out when it is resumed, so early data cannot be replayed to this process.
        config.session_storage = ServerSessionMemoryCache::new(REMEMBERED_SESSIONS);
        config.send_tls13_tickets = TICKETS;
        config.max_early_data_size = u32::MAX;
    }
    let crypto = ServerSessions::new(config).map_err(|error| Failure::option(error.to_string()))?;
    Ok(Server {
        crypto: Arc::new(crypto),
        clients,
        early_data,
    })
}

/// Chooses a certificate by the name that the client asks for (SNI, RFC 6066 §3). The first one serves clients without
/// a known name.
#[derive(Debug)]
struct Certificates {
    default: Arc<CertifiedKey>,
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Certificates {
    fn read(mut fields: Fields<'_>) -> Result<Self, Failure> {
        let mut default = None;
        let mut by_name = HashMap::new();
        while !fields.is_empty() {
            let names = String::from_utf8_lossy(fields.take()).into_owned();
            let certificate = certified(fields.take(), fields.take(), "tls")?;
            let names = if names.is_empty() {
                certificate.cert.first().map(dns_names).unwrap_or_default()
            } else {
                names.lines().map(str::to_owned).collect()
            };
            for name in names {
                // The first certificate with a name keeps it.
                by_name
                    .entry(name.to_ascii_lowercase())
                    .or_insert_with(|| certificate.clone());
            }
            default.get_or_insert(certificate);
        }
        let default = default.ok_or_else(|| Failure::option("tls holds no certificate"))?;
        Ok(Certificates { default, by_name })
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or_default().to_ascii_lowercase();
        let found = self.by_name.get(&name).or_else(|| {
            // A wildcard matches one label (RFC 6125 §6.4.3).
            let (_, parent) = name.split_once('.')?;
            self.by_name.get(&format!("*.{parent}"))
        });
        Some(found.unwrap_or(&self.default).clone())
    }
}

/// The DNS names a certificate is for.
fn dns_names(leaf: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(leaf) else {
        return Vec::new();
    };
    let Ok(Some(alternatives)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let names = alternatives.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect()
}
