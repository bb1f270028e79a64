//! Verifies the peer's certificate and records why it was refused: a failed handshake only carries a TLS alert number.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::hashes::{CertificateHashes, verify_pinned};
use super::{provider, tls_failure};
use crate::bridge::error::Failure;

/// Findings of the TLS callbacks during one step of a handshake.
#[derive(Debug, Default)]
pub struct Findings {
    pub failure: Option<Box<Failure>>,
    /// The peer's certificate was verified: the session is not a resumed one.
    pub verified: bool,
    /// The server asked for the client's certificate.
    pub asked: bool,
}

/// Shared by all connections of one configuration: the endpoint empties it after each step of a handshake.
pub type Verdict = Arc<Mutex<Findings>>;

pub fn record(verdict: &Verdict, note: impl FnOnce(&mut Findings)) {
    if let Ok(mut findings) = verdict.lock() {
        note(&mut findings);
    }
}

#[derive(Debug)]
pub enum Judge {
    Roots(Arc<WebPkiServerVerifier>),
    Hashes(CertificateHashes),
}

#[derive(Debug)]
pub struct ServerVerifier {
    pub judge: Judge,
    pub verdict: Verdict,
    pub valid_until: ValidUntil,
    pub provider: Arc<CryptoProvider>,
}

/// Expiry of the first of the certificates that a configuration has trusted, in Unix seconds.
#[derive(Clone, Debug)]
pub struct ValidUntil(Arc<AtomicI64>);

impl Default for ValidUntil {
    fn default() -> Self {
        ValidUntil(Arc::new(AtomicI64::new(i64::MAX)))
    }
}

impl ValidUntil {
    fn note(&self, certificate: &CertificateDer<'_>) {
        if let Ok((_, certificate)) = X509Certificate::from_der(certificate) {
            self.0
                .fetch_min(certificate.validity().not_after.timestamp(), Ordering::Relaxed);
        }
    }

    pub fn is_past(&self, now: UnixTime) -> bool {
        i64::try_from(now.as_secs()).unwrap_or(i64::MAX) > self.0.load(Ordering::Relaxed)
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        record(&self.verdict, |findings| findings.verified = true);
        let (error, failure) = match &self.judge {
            Judge::Roots(webpki) => match webpki.verify_server_cert(leaf, intermediates, name, ocsp, now) {
                Ok(verified) => {
                    self.valid_until.note(leaf);
                    intermediates.iter().for_each(|issuer| self.valid_until.note(issuer));
                    return Ok(verified);
                }
                Err(error) => {
                    let failure = explain(&error, &format!("the certificate of {}", name.to_str()), "ca");
                    (error, failure)
                }
            },
            Judge::Hashes(hashes) => match verify_pinned(leaf, hashes, now) {
                Ok(()) => {
                    self.valid_until.note(leaf);
                    return Ok(ServerCertVerified::assertion());
                }
                Err(failure) => (CertificateError::ApplicationVerificationFailure.into(), failure),
            },
        };
        record(&self.verdict, |findings| findings.failure = Some(Box::new(failure)));
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
        verify_tls13_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug)]
pub struct ClientVerifier {
    webpki: Arc<dyn ClientCertVerifier>,
    pub verdict: Verdict,
}

impl ClientVerifier {
    pub fn new(roots: Arc<RootCertStore>, required: bool, verdict: Verdict) -> Result<Self, Failure> {
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
        let builder = if required {
            builder
        } else {
            builder.allow_unauthenticated()
        };
        let webpki = builder
            .build()
            .map_err(|error| Failure::option(format!("clientCertificates.ca cannot be used: {error}")))?;
        Ok(ClientVerifier { webpki, verdict })
    }

    /// Returns why the client of a resumed session is refused: rustls accepts the `chain` of an earlier handshake
    /// without verifying it again.
    pub fn judge_again(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Failure> {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return if self.client_auth_mandatory() {
                Err(tls_failure(
                    "ERR_QUIC_CERTIFICATE_REQUIRED",
                    "the resumed session has no client certificate, and this endpoint requires one",
                ))
            } else {
                Ok(())
            };
        };
        match self.webpki.verify_client_cert(leaf, intermediates, now) {
            Ok(_) => Ok(()),
            Err(error) => Err(explain(&error, "the client's certificate", "clientCertificates.ca")),
        }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.webpki.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.webpki.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        record(&self.verdict, |findings| findings.verified = true);
        self.webpki
            .verify_client_cert(leaf, intermediates, now)
            .inspect_err(|error| {
                let failure = explain(error, "the client's certificate", "clientCertificates.ca");
                record(&self.verdict, |findings| findings.failure = Some(Box::new(failure)));
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

/// `what` was refused; `remedy` is the option that would have trusted it.
fn explain(error: &rustls::Error, what: &str, remedy: &str) -> Failure {
    use CertificateError as C;
    match error {
        rustls::Error::InvalidCertificate(
            C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. },
        ) => tls_failure(
            "ERR_QUIC_CERTIFICATE_EXPIRED",
            format!("{what} is expired or not valid yet: {error}"),
        ),
        rustls::Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => tls_failure(
            "ERR_QUIC_CERTIFICATE_NAME",
            format!("{what} is for another name: {error}"),
        ),
        rustls::Error::InvalidCertificate(C::UnknownIssuer) => tls_failure(
            "ERR_QUIC_CERTIFICATE_UNTRUSTED",
            format!(
                "{what} was issued by an authority that is not trusted here; pass it as {remedy} or pin a server's certificate with serverCertificateHashes"
            ),
        ),
        other => tls_failure(
            "ERR_QUIC_CERTIFICATE_UNTRUSTED",
            format!("{what} cannot be trusted: {other}"),
        ),
    }
}
