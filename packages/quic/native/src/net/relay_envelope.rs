//! The envelope of a datagram between the process that has a UDP port and its workers: `relay.rs` and `socket.rs`.
//!
//! ```text
//! token that authenticates either side (16 bytes)
//! place of the worker (1)
//! flags (1): ECN (2 bits), remote address is IPv4, has a local address, local address is IPv4, greeting
//! remote port, length of each of several datagrams or 0, scope of the remote address (2, 2, 4, little-endian)
//! remote address, local address (16 each; IPv4 in the last four bytes, as mapped to IPv6)
//! datagrams, one after the other
//! ```

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use quinn_udp::EcnCodepoint;

pub const TOKEN_BYTES: usize = 16;

pub type Token = [u8; TOKEN_BYTES];

const ECN: u8 = 0b11;
const REMOTE_IS_V4: u8 = 1 << 2;
const HAS_LOCAL: u8 = 1 << 3;
const LOCAL_IS_V4: u8 = 1 << 4;
const GREETING: u8 = 1 << 5;

/// Head of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub place: u8,
    /// Set by a worker that announces its address; the answer carries the address of the port.
    pub greeting: bool,
    pub remote: SocketAddr,
    pub local: Option<IpAddr>,
    pub ecn: Option<EcnCodepoint>,
    /// Length of each datagram except the last, if there are several.
    pub stride: Option<u16>,
}

impl Head {
    pub fn greeting(place: u8, remote: SocketAddr) -> Self {
        Head {
            place,
            greeting: true,
            remote,
            local: None,
            ecn: None,
            stride: None,
        }
    }

    /// Writes an envelope; replaces the contents of `into`.
    pub fn write(&self, token: &Token, datagrams: &[u8], into: &mut Vec<u8>) {
        let scope = match self.remote {
            SocketAddr::V6(address) => address.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        let flag = |flag: u8, is: bool| if is { flag } else { 0 };
        let flags = self.ecn.map_or(0, |ecn| ecn as u8)
            | flag(REMOTE_IS_V4, self.remote.is_ipv4())
            | flag(HAS_LOCAL, self.local.is_some())
            | flag(LOCAL_IS_V4, self.local.is_some_and(|local| local.is_ipv4()))
            | flag(GREETING, self.greeting);
        into.clear();
        into.extend(token);
        into.extend([self.place, flags]);
        into.extend(self.remote.port().to_le_bytes());
        into.extend(self.stride.unwrap_or(0).to_le_bytes());
        into.extend(scope.to_le_bytes());
        into.extend(octets(self.remote.ip()));
        into.extend(self.local.map_or([0; 16], octets));
        into.extend(datagrams);
    }

    /// Reads an envelope whose token matches: its head and its datagrams.
    pub fn read<'a>(token: &Token, envelope: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (given, rest) = envelope.split_first_chunk::<TOKEN_BYTES>()?;
        // Compared in constant time.
        if given.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b)) != 0 {
            return None;
        }
        let (&[place, flags], rest) = rest.split_first_chunk()?;
        let (&port, rest) = rest.split_first_chunk()?;
        let (&stride, rest) = rest.split_first_chunk()?;
        let (&scope, rest) = rest.split_first_chunk()?;
        let (&remote, rest) = rest.split_first_chunk()?;
        let (&local, datagrams) = rest.split_first_chunk()?;
        let port = u16::from_le_bytes(port);
        let remote = match address(remote, flags & REMOTE_IS_V4 != 0) {
            IpAddr::V4(ip) => SocketAddr::new(ip.into(), port),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, u32::from_le_bytes(scope)).into(),
        };
        let head = Head {
            place,
            greeting: flags & GREETING != 0,
            remote,
            local: (flags & HAS_LOCAL != 0).then(|| address(local, flags & LOCAL_IS_V4 != 0)),
            ecn: EcnCodepoint::from_bits(flags & ECN),
            stride: Some(u16::from_le_bytes(stride)).filter(|stride| *stride != 0),
        };
        Some((head, datagrams))
    }
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn address(octets: [u8; 16], is_v4: bool) -> IpAddr {
    let ip = Ipv6Addr::from(octets);
    match ip.to_ipv4_mapped() {
        Some(v4) if is_v4 => v4.into(),
        _ => ip.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = [7; TOKEN_BYTES];
    const HEAD_BYTES: usize = TOKEN_BYTES + 10 + 2 * 16;

    #[test]
    fn an_envelope_says_all_that_is_known_of_its_datagrams() {
        let remotes = ["192.0.2.7:4433", "[::ffff:192.0.2.7]:1", "[fe80::1%3]:65535"];
        let locals = [None, Some("192.0.2.1"), Some("::ffff:192.0.2.1"), Some("2001:db8::1")];
        let ecns = [
            None,
            Some(EcnCodepoint::Ect0),
            Some(EcnCodepoint::Ect1),
            Some(EcnCodepoint::Ce),
        ];
        for remote in remotes {
            for local in locals {
                for (ecn, stride) in ecns.into_iter().zip([None, Some(1), Some(1200), Some(u16::MAX)]) {
                    let head = Head {
                        place: 5,
                        greeting: false,
                        remote: remote.parse().unwrap(),
                        local: local.map(|text| text.parse().unwrap()),
                        ecn,
                        stride,
                    };
                    let mut envelope = vec![1];
                    head.write(&TOKEN, b"datagram", &mut envelope);
                    assert_eq!(envelope.len(), HEAD_BYTES + 8);
                    assert_eq!(Head::read(&TOKEN, &envelope), Some((head, &b"datagram"[..])));
                }
            }
        }
    }

    #[test]
    fn envelopes_of_others_and_pieces_are_no_envelopes() {
        let mut envelope = Vec::new();
        Head::greeting(0, "127.0.0.1:1".parse().unwrap()).write(&TOKEN, &[], &mut envelope);
        assert!(Head::read(&TOKEN, &envelope).unwrap().0.greeting);
        for length in 0..envelope.len() {
            assert_eq!(Head::read(&TOKEN, &envelope[..length]), None);
        }
        for at in 0..TOKEN_BYTES {
            let mut forged = envelope.clone();
            forged[at] ^= 1;
            assert_eq!(Head::read(&TOKEN, &forged), None);
        }
    }
}
