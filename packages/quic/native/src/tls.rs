//! TLS 1.3 for both roles, and the verdict on a server's certificate.

use std::sync::{Arc, Mutex, OnceLock};

use quinn_proto as qp;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Failure, Source};
use crate::hashes::{CertificateHashes, verify_pinned};

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER
        .get_or_init(|| Arc::new(rustls::crypto::ring::default_provider()))
        .clone()
}

fn tls_failure(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(Source::Tls, code, message)
}

/// Protocol names in the TLS encoding: each preceded by its length in one byte (RFC 7301 §3.1).
pub fn parse_alpn(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    while let Some((&length, rest)) = wire.split_first() {
        let (name, rest) = rest.split_at(rest.len().min(length.into()));
        names.push(name.to_vec());
        wire = rest;
    }
    names
}

pub fn server(cert: &[u8], key: &[u8], alpn: &[u8]) -> Result<Arc<dyn qp::crypto::ServerConfig>, Failure> {
    let chain = CertificateDer::pem_slice_iter(cert)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::option(format!("tls.cert is not a PEM certificate chain: {error}")))?;
    if chain.is_empty() {
        return Err(Failure::option("tls.cert holds no PEM certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| Failure::option(format!("tls.key is not a PEM private key: {error}")))?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Failure::option(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| Failure::option(format!("tls.cert and tls.key do not fit together: {error}")))?;
    config.alpn_protocols = parse_alpn(alpn);
    // The default would encrypt and send tickets for resumption, which connect() never asks for.
    config.send_tls13_tickets = 0;
    let quic = QuicServerConfig::try_from(config).map_err(|error| Failure::option(error.to_string()))?;
    Ok(Arc::new(quic))
}

/// Whom a client trusts.
pub enum Trust {
    System,
    /// Only these roots: a PEM bundle.
    Ca(Vec<u8>),
    /// Only these leaf certificates (W3C WebTransport `serverCertificateHashes`).
    Hashes(CertificateHashes),
}

/// Where the verifier leaves its reason: a failed handshake only carries a TLS alert number.
pub type Verdict = Arc<Mutex<Option<Failure>>>;

pub fn client(trust: Trust, alpn: &[u8]) -> Result<(Arc<dyn qp::crypto::ClientConfig>, Verdict), Failure> {
    let judge = match trust {
        Trust::System => Judge::Roots(webpki(system_roots()?)?),
        Trust::Ca(pem) => Judge::Roots(webpki(Arc::new(ca_roots(&pem)?))?),
        Trust::Hashes(hashes) => Judge::Hashes(hashes),
    };
    let verdict = Verdict::default();
    let verifier = Verifier {
        judge,
        verdict: verdict.clone(),
        provider: provider(),
    };
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Failure::option(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = parse_alpn(alpn);
    config.resumption = rustls::client::Resumption::disabled();
    let quic = QuicClientConfig::try_from(config).map_err(|error| Failure::option(error.to_string()))?;
    Ok((Arc::new(quic), verdict))
}

fn webpki(roots: Arc<RootCertStore>) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    WebPkiServerVerifier::builder_with_provider(roots, provider())
        .build()
        .map_err(|error| Failure::option(format!("tls.ca cannot be used: {error}")))
}

fn ca_roots(pem: &[u8]) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_slice_iter(pem) {
        let cert = cert.map_err(|error| Failure::option(format!("tls.ca is not PEM: {error}")))?;
        roots
            .add(cert)
            .map_err(|error| Failure::option(format!("tls.ca holds an unusable certificate: {error}")))?;
    }
    if roots.is_empty() {
        return Err(Failure::option("tls.ca holds no PEM certificate"));
    }
    Ok(roots)
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
                format!("no system root certificates could be loaded ({why}); install them, or pass tls.ca or tls.serverCertificateHashes"),
            )
        })
}

#[derive(Debug)]
enum Judge {
    Roots(Arc<WebPkiServerVerifier>),
    Hashes(CertificateHashes),
}

#[derive(Debug)]
struct Verifier {
    judge: Judge,
    verdict: Verdict,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let (error, failure) = match &self.judge {
            Judge::Roots(webpki) => match webpki.verify_server_cert(leaf, intermediates, name, ocsp, now) {
                Ok(verified) => return Ok(verified),
                Err(error) => {
                    let failure = explain(&error, name);
                    (error, failure)
                }
            },
            Judge::Hashes(hashes) => match verify_pinned(leaf, hashes, now) {
                Ok(()) => return Ok(ServerCertVerified::assertion()),
                Err(failure) => (CertificateError::ApplicationVerificationFailure.into(), failure),
            },
        };
        if let Ok(mut verdict) = self.verdict.lock() {
            *verdict = Some(failure);
        }
        Err(error)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // QUIC is TLS 1.3 only (RFC 9001 §4.2).
        Err(rustls::PeerIncompatible::Tls13RequiredForQuic.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn explain(error: &rustls::Error, name: &ServerName<'_>) -> Failure {
    use CertificateError as C;
    let name = name.to_str();
    match error {
        rustls::Error::InvalidCertificate(
            C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. },
        ) => tls_failure(
            "ERR_QUIC_CERTIFICATE_EXPIRED",
            format!("the certificate of {name} is expired or not valid yet: {error}"),
        ),
        rustls::Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => tls_failure(
            "ERR_QUIC_CERTIFICATE_NAME",
            format!("the server's certificate is not for {name}: {error}"),
        ),
        rustls::Error::InvalidCertificate(C::UnknownIssuer) => tls_failure(
            "ERR_QUIC_CERTIFICATE_UNTRUSTED",
            format!(
                "the certificate of {name} was issued by an authority that is not trusted here; pass it as tls.ca or pin the certificate with tls.serverCertificateHashes"
            ),
        ),
        other => tls_failure(
            "ERR_QUIC_CERTIFICATE_UNTRUSTED",
            format!("the certificate of {name} cannot be trusted: {other}"),
        ),
    }
}
