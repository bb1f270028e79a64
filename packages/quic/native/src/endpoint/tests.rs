use std::net::{Ipv4Addr, UdpSocket};

use quinn_proto as qp;

use super::Endpoint;
use crate::bridge::layout::Settings;
use crate::net::bind::Sharing;
use crate::net::socket::{Offload, Socket};
use crate::quic::secret::Secret;
use crate::quic::tls::client;

fn endpoint() -> Endpoint {
    endpoint_with(Offload::System)
}

fn endpoint_with(offload: Offload) -> Endpoint {
    let socket = Socket::bind(Some(Ipv4Addr::LOCALHOST.into()), 0, Sharing::None, offload);
    Endpoint::new(socket.ok().unwrap(), &Secret::new(&[], &[]).ok().unwrap(), None, false)
}

#[test]
fn what_waits_in_the_socket_is_read_in_one_go_up_to_a_bound() {
    for offload in [Offload::System, Offload::None] {
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut endpoint = endpoint_with(offload);
        // Their sizes differ so that the kernel does not coalesce them.
        for index in 0..300 {
            peer.send_to(&[0; 2][..1 + index % 2], endpoint.socket.address())
                .unwrap();
        }
        let counts = [endpoint.receive(), endpoint.receive(), endpoint.receive()];
        assert_eq!(counts, [256, 44, 0], "{offload:?}");
    }
}

#[test]
fn empty_datagrams_count_in_what_is_read_in_one_go() {
    let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut endpoint = endpoint();
    for _ in 0..300 {
        peer.send_to(&[], endpoint.socket.address()).unwrap();
    }
    let counts = [endpoint.receive(), endpoint.receive(), endpoint.receive()];
    assert_eq!(counts, [256, 44, 0]);
}

/// The kernel rarely refuses a datagram on loopback, so the refusal is simulated.
#[test]
fn a_blocked_socket_sends_nothing_until_it_is_writable_and_then_everything_in_order() {
    let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    peer.set_nonblocking(true).unwrap();
    let destination = peer.local_addr().unwrap();
    let mut endpoint = endpoint();
    let transmit = qp::Transmit {
        destination,
        ecn: None,
        size: 4,
        segment_size: None,
        src_ip: None,
    };
    endpoint.socket.block_with(transmit, b"held");
    let settings = Settings::from_numbers(&[
        3e4, 0., 100., 16., 100., 1e6, 1e6, 1e6, 1e6, 1e5, 333., 0., 0., 0., 0., 1e5, 0., 10., 10., 10., 5., 5., 1e4,
        0., 0.,
    ]);
    let tls = client(b"\x05\0\0\0\x04test\x01\0\0\0\x02", false).ok().unwrap();
    let connected = endpoint.connect(destination, "localhost", tls, &settings.unwrap());
    assert!(connected.is_ok());

    let mut buffer = [0; 2000];
    endpoint.flush();
    assert!(endpoint.socket.blocked());
    assert!(peer.recv(&mut buffer).is_err());

    endpoint.socket.writable();
    assert!(!endpoint.socket.blocked());
    endpoint.flush();
    assert_eq!(peer.recv(&mut buffer).unwrap(), 4);
    assert_eq!(&buffer[..4], b"held");
    // The client's first Initial (RFC 9000 §14.1).
    assert!(peer.recv(&mut buffer).unwrap() >= 1200);
    assert!(endpoint.deadline().is_some());
    assert_eq!(endpoint.counts(), [1, 0, 1]);
}
