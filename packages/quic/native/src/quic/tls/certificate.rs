//! Creates certificates for development.

use std::net::IpAddr;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256, SanType,
};
use time::OffsetDateTime;

/// The certificate to create. Times are seconds since 1970.
pub struct Request<'a> {
    pub common_name: &'a str,
    /// Host names and addresses that the certificate is valid for, or that an authority may sign for.
    pub hosts: &'a [&'a str],
    pub not_before: i64,
    pub not_after: i64,
    pub kind: Kind<'a>,
}

pub enum Kind<'a> {
    SelfSigned,
    /// The certificate of an authority that may only sign for its hosts and their subdomains (RFC 5280 §4.2.1.10).
    Authority,
    /// A certificate for servers, signed by the authority with this certificate and key, in PEM.
    SignedBy {
        cert: &'a str,
        key: &'a str,
    },
}

/// Returns the certificate and its new ECDSA P-256 key as PEM. Fails if a host name or the authority is malformed.
/// `hosts` must not be empty: an authority without names could sign for all.
pub fn create(request: &Request) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, request.common_name);
    params.not_before = time_of(request.not_before)?;
    params.not_after = time_of(request.not_after)?;
    if matches!(request.kind, Kind::Authority) {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: request
                .hosts
                .iter()
                .map(|host| subtree(host))
                .collect::<Result<_, _>>()?,
            excluded_subtrees: Vec::new(),
        });
    } else {
        params.subject_alt_names = request.hosts.iter().map(|host| name(host)).collect::<Result<_, _>>()?;
    }
    let certificate = match request.kind {
        Kind::SelfSigned | Kind::Authority => params.self_signed(&key)?,
        Kind::SignedBy { cert, key: issuer_key } => {
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let issuer = Issuer::from_ca_cert_pem(cert, KeyPair::from_pem(issuer_key)?)?;
            params.signed_by(&key, &issuer)?
        }
    };
    Ok(certificate.pem() + &key.serialize_pem())
}

fn time_of(seconds: i64) -> Result<OffsetDateTime, rcgen::Error> {
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| rcgen::Error::Time)
}

fn name(host: &str) -> Result<SanType, rcgen::Error> {
    Ok(match address(host) {
        Some(ip) => SanType::IpAddress(ip),
        None => SanType::DnsName(host.try_into()?),
    })
}

fn subtree(host: &str) -> Result<GeneralSubtree, rcgen::Error> {
    Ok(match address(host) {
        Some(ip) => GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(ip, if ip.is_ipv4() { 32 } else { 128 })),
        // rcgen checks names only in `Ia5String`: it panics if a subtree has others.
        None => GeneralSubtree::DnsName(Ia5String::try_from(host)?.to_string()),
    })
}

/// Parses an IP address, without its zone.
fn address(host: &str) -> Option<IpAddr> {
    host.split('%').next()?.parse().ok()
}
