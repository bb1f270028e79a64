//! TLS 1.3 for both roles.

pub mod certificate;
mod client;
mod exporter;
mod hashes;
mod server;
mod session;
#[cfg(test)]
pub mod tests;
mod tickets;
mod verify;

use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::crypto::ring::{cipher_suite, kx_group};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{KeyLog, KeyLogFile, RootCertStore};

pub use client::{Client, client};
pub use server::{Server, server};
pub use verify::{ClientVerifier, Findings, Verdict};

use crate::bridge::error::{Failure, Source};

pub fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER
        .get_or_init(|| {
            Arc::new(CryptoProvider {
                // AES-128 first, as in Chromium and Go: it and its SHA-256 are cheaper, especially in the handshake.
                cipher_suites: vec![
                    cipher_suite::TLS13_AES_128_GCM_SHA256,
                    cipher_suite::TLS13_AES_256_GCM_SHA384,
                    cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
                ],
                // As in browsers and Go. The client also sends a plain X25519 share, so that a server without the hybrid group
                // needs no second round trip.
                kx_groups: vec![
                    X25519MLKEM768,
                    kx_group::X25519,
                    kx_group::SECP256R1,
                    kx_group::SECP384R1,
                ],
                ..rustls::crypto::ring::default_provider()
            })
        })
        .clone()
}

/// Writes the secrets of sessions to the file named by the environment variable SSLKEYLOGFILE, as browsers and curl do.
fn key_log() -> Arc<dyn KeyLog> {
    static KEY_LOG: OnceLock<Arc<KeyLogFile>> = OnceLock::new();
    KEY_LOG.get_or_init(|| Arc::new(KeyLogFile::new())).clone()
}

fn tls_failure(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(Source::Tls, code, message)
}

/// Parses protocol names in the TLS encoding: each preceded by its length in one byte (RFC 7301 §3.1).
fn parse_alpn(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    while let Some((&length, rest)) = wire.split_first() {
        let (name, rest) = rest.split_at(rest.len().min(length.into()));
        names.push(name.to_vec());
        wire = rest;
    }
    names
}

/// Parses a certificate chain, leaf first, with its private key. `name` is the option's name, for errors.
fn certified(cert: &[u8], key: &[u8], name: &str) -> Result<Arc<CertifiedKey>, Failure> {
    let chain = CertificateDer::pem_slice_iter(cert)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::option(format!("{name}.cert is not a PEM certificate chain: {error}")))?;
    if chain.is_empty() {
        return Err(Failure::option(format!("{name}.cert holds no PEM certificate")));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| Failure::option(format!("{name}.key is not a PEM private key: {error}")))?;
    CertifiedKey::from_der(chain, key, &provider())
        .map(Arc::new)
        .map_err(|error| Failure::option(format!("{name}.cert and {name}.key do not fit together: {error}")))
}

/// Parses the roots in a PEM bundle. `name` is the option's name, for errors.
fn roots(pem: &[u8], name: &str) -> Result<Arc<RootCertStore>, Failure> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_slice_iter(pem) {
        let cert = cert.map_err(|error| Failure::option(format!("{name} is not PEM: {error}")))?;
        roots
            .add(cert)
            .map_err(|error| Failure::option(format!("{name} holds an unusable certificate: {error}")))?;
    }
    if roots.is_empty() {
        return Err(Failure::option(format!("{name} holds no PEM certificate")));
    }
    Ok(Arc::new(roots))
}
