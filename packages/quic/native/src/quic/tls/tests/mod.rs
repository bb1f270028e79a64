//! A server's sessions, in TLS alone and within quinn's connections.

mod connection;
mod session;

use std::sync::Arc;

use quinn_proto as qp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::{RootCertStore, SupportedCipherSuite};

use super::provider;
use super::session::ServerSessions;

/// Signed by its own key, for localhost, client or server, until the year 2120.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBXzCCAQSgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMUV41+oAVapdWUS
ICIdPjbCVZf8nnTsLptKBcVm/MmGiKD/e5lHo4gfBCUE80JbwFnyNqsgRGpl3GyT
3swSvpujRTBDMAwGA1UdEwEB/wQCMAAwFAYDVR0RBA0wC4IJbG9jYWxob3N0MB0G
A1UdDgQWBBRwI5O6JnuzINzT6ApJBeJWc72XDTAKBggqhkjOPQQDAgNJADBGAiEA
+pw8Cnz5vwgYToG4yjbra3ZyJSjAWrvJu9W1SkBP63UCIQCOcZ06MhsattpvbHNx
xW62yYPc9RvEftJCIsutcIkBCA==
-----END CERTIFICATE-----
";

const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrMoRt5JJOnv1+g5z
nuJ71SNzftJsXXj1Ez/Gc/nawGihRANCAATFFeNfqAFWqXVlEiAiHT42wlWX/J50
7C6bSgXFZvzJhoig/3uZR6OIHwQlBPNCW8BZ8jarIERqZdxsk97MEr6b
-----END PRIVATE KEY-----
";

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()
}

fn key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap()
}

fn roots() -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()).unwrap();
    Arc::new(roots)
}

pub fn sessions(asks: bool, tickets: usize) -> Arc<ServerSessions> {
    let verifier = match asks {
        true => WebPkiClientVerifier::builder_with_provider(roots(), provider())
            .build()
            .unwrap(),
        false => Arc::new(NoClientAuth),
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate()], key())
        .unwrap();
    config.alpn_protocols = vec![b"other".to_vec(), b"ours".to_vec()];
    config.send_tls13_tickets = tickets;
    Arc::new(ServerSessions::new(config).ok().unwrap())
}

pub fn client_config(suites: Vec<SupportedCipherSuite>) -> Arc<rustls::ClientConfig> {
    let mut provider = (*provider()).clone();
    provider.cipher_suites = suites;
    client_config_of(provider)
}

pub fn client_config_of(provider: CryptoProvider) -> Arc<rustls::ClientConfig> {
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots())
        .with_client_auth_cert(vec![certificate()], key())
        .unwrap();
    config.alpn_protocols = vec![b"ours".to_vec()];
    Arc::new(config)
}

/// KeyUpdate (RFC 8446 §4.6.3), which QUIC does not use (RFC 9001 §6).
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];

fn unexpected_message() -> qp::TransportErrorCode {
    qp::TransportErrorCode::crypto(10)
}
