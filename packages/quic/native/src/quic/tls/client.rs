//! The dialling side: its trusted certificates, its own certificate, and the sessions that it may resume.

use std::sync::{Arc, OnceLock};

use quinn_proto as qp;
use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, SignatureScheme};

use super::hashes::parse_hashes;
use super::verify::{Judge, ServerVerifier, ValidUntil, Verdict, record};
use super::{certified, key_log, parse_alpn, provider, roots, tls_failure};
use crate::bridge::error::Failure;
use crate::bridge::fields::Fields;

/// Maximum number of servers whose tickets one configuration keeps. The endpoint keeps one configuration per server
/// address.
const REMEMBERED_SERVERS: usize = 4;

/// The certificates that a client trusts.
pub enum Trust<'a> {
    System,
    /// Only these roots: a PEM bundle.
    Ca(&'a [u8]),
    /// Only these leaf certificates (W3C WebTransport `serverCertificateHashes`).
    Hashes(&'a [u8]),
}

#[derive(Clone)]
pub struct Client {
    pub crypto: Arc<dyn qp::crypto::ClientConfig>,
    pub verdict: Verdict,
    /// After this time the sessions that may be resumed belong to a certificate that has expired.
    pub valid_until: ValidUntil,
}

/// Reads the configuration as written by `encodeClientTls` in `src/tls-options.ts`: ALPN wire, kind of trust, trust, PEM chain, PEM key.
pub fn client(wire: &[u8], early_data: bool) -> Result<Client, Failure> {
    let mut fields = Fields::new(wire);
    let alpn = parse_alpn(fields.take());
    let trust = match (fields.take(), fields.take()) {
        ([1], pem) => Trust::Ca(pem),
        ([2], hashes) => Trust::Hashes(hashes),
        _ => Trust::System,
    };
    let (cert, key) = (fields.take(), fields.take());
    let verdict = Verdict::default();
    let valid_until = ValidUntil::default();
    let verifier = ServerVerifier {
        judge: match trust {
            Trust::System => Judge::Roots(webpki(system_roots()?)?),
            Trust::Ca(pem) => Judge::Roots(webpki(roots(pem, "ca")?)?),
            Trust::Hashes(hashes) => Judge::Hashes(parse_hashes(hashes)),
        },
        verdict: verdict.clone(),
        valid_until: valid_until.clone(),
        provider: provider(),
    };
    let identity = Identity {
        certificate: (!cert.is_empty()).then(|| certified(cert, key, "tls")).transpose()?,
        verdict: verdict.clone(),
    };
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Failure::option(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_cert_resolver(Arc::new(identity));
    config.alpn_protocols = alpn;
    config.key_log = key_log();
    config.enable_early_data = early_data;
    config.resumption = if early_data {
        Resumption::in_memory_sessions(REMEMBERED_SERVERS)
    } else {
        Resumption::disabled()
    };
    let crypto = QuicClientConfig::try_from(config).map_err(|error| Failure::option(error.to_string()))?;
    Ok(Client {
        crypto: Arc::new(crypto),
        verdict,
        valid_until,
    })
}

/// The client's own certificate, shown to a server that asks.
#[derive(Debug)]
struct Identity {
    certificate: Option<Arc<CertifiedKey>>,
    verdict: Verdict,
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        record(&self.verdict, |findings| findings.asked = true);
        self.certificate.clone()
    }

    /// Always true: otherwise rustls would not call `resolve`, which notes that the server asked for a certificate.
    fn has_certs(&self) -> bool {
        true
    }
}

fn webpki(roots: Arc<RootCertStore>) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    WebPkiServerVerifier::builder_with_provider(roots, provider())
        .build()
        .map_err(|error| Failure::option(format!("ca cannot be used: {error}")))
}

/// Loaded once per process: reading a few hundred files costs milliseconds.
fn system_roots() -> Result<Arc<RootCertStore>, Failure> {
    static ROOTS: OnceLock<Result<Arc<RootCertStore>, String>> = OnceLock::new();
    ROOTS
        .get_or_init(|| {
            let found = rustls_native_certs::load_native_certs();
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(found.certs);
            match (roots.is_empty(), found.errors.first()) {
                (false, _) => Ok(Arc::new(roots)),
                (true, Some(error)) => Err(error.to_string()),
                (true, None) => Err("none are installed".to_owned()),
            }
        })
        .clone()
        .map_err(|why| {
            tls_failure(
                "ERR_QUIC_CERTIFICATE_UNTRUSTED",
                format!("no system root certificates could be loaded ({why}); install them, or pass ca or serverCertificateHashes"),
            )
        })
}
