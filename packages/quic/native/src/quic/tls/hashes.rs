//! `serverCertificateHashes` (W3C WebTransport §6.10): trust a leaf by its SHA-256 instead of by an authority.

use rustls::crypto::hash::HashAlgorithm;
use rustls::pki_types::{CertificateDer, UnixTime};
use x509_parser::oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::tls_failure as failure;
use crate::bridge::error::Failure;

pub type CertificateHashes = Vec<[u8; 32]>;

/// The custom certificate requirements allow at most two weeks of validity.
const MAX_VALIDITY_SECONDS: i64 = 14 * 24 * 3600;

pub fn parse_hashes(bytes: &[u8]) -> CertificateHashes {
    let (hashes, _) = bytes.as_chunks::<32>();
    hashes.to_vec()
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let provider = suite.tls13().map(|suite| suite.common.hash_provider);
    provider.map_or_else(Vec::new, |hash| {
        debug_assert_eq!(hash.algorithm(), HashAlgorithm::SHA256);
        hash.hash(bytes).as_ref().to_vec()
    })
}

pub fn verify_pinned(leaf: &CertificateDer<'_>, hashes: &CertificateHashes, now: UnixTime) -> Result<(), Failure> {
    let actual = sha256(leaf);
    if !hashes.iter().any(|hash| hash[..] == actual[..]) {
        let hex: String = actual.iter().map(|byte| format!("{byte:02x}")).collect();
        return Err(failure(
            "ERR_QUIC_CERTIFICATE_HASH_MISMATCH",
            format!("the server's certificate has SHA-256 {hex}, which is not among the serverCertificateHashes"),
        ));
    }
    let (_, cert) = X509Certificate::from_der(leaf).map_err(|error| {
        failure(
            "ERR_QUIC_CERTIFICATE_UNSUITABLE",
            format!("the server's certificate is not valid DER: {error}"),
        )
    })?;
    let validity = cert.validity();
    let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < from || now > until {
        return Err(failure(
            "ERR_QUIC_CERTIFICATE_EXPIRED",
            format!(
                "the server's certificate is valid from {} until {} only",
                validity.not_before, validity.not_after
            ),
        ));
    }
    if until.saturating_sub(from) > MAX_VALIDITY_SECONDS {
        return Err(failure(
            "ERR_QUIC_CERTIFICATE_UNSUITABLE",
            "a certificate trusted by its hash may be valid for at most 14 days; issue a shorter one",
        ));
    }
    let algorithm = &cert.public_key().algorithm;
    let curve = algorithm.parameters.as_ref().and_then(|curve| curve.as_oid().ok());
    if algorithm.algorithm != OID_KEY_TYPE_EC_PUBLIC_KEY || curve != Some(OID_EC_P256) {
        return Err(failure(
            "ERR_QUIC_CERTIFICATE_UNSUITABLE",
            "a certificate trusted by its hash must have an ECDSA P-256 key",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_pinned_certificate_that_is_none_is_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let hashes = parse_hashes(&sha256(&bytes));
            let refused = verify_pinned(&CertificateDer::from(bytes), &hashes, UnixTime::now()).unwrap_err();
            proptest::prop_assert_eq!(refused.code, "ERR_QUIC_CERTIFICATE_UNSUITABLE");
        }
    }
}
