//! A relay between sockets of the loopback interface.

use super::*;
use crate::net::shared_port_ids::{GROUP_ID_BYTES, GROUP_LAYOUT};

const TOKEN: Token = [3; 16];
const PLACES: usize = 3;

fn short(place: u8) -> Vec<u8> {
    [&[0x40, place][..], &[7; 30]].concat()
}

fn long(id: &[u8]) -> Vec<u8> {
    [&[0xc0, 0, 0, 0, 1, id.len() as u8][..], id, &[0; 30]].concat()
}

fn relay() -> Relay {
    Relay::bind(
        Some(Ipv4Addr::LOCALHOST.into()),
        0,
        Offload::System,
        PLACES,
        TOKEN,
        GROUP_LAYOUT,
    )
    .ok()
    .unwrap()
}

fn join(relay: &Relay, place: u8) -> Socket {
    Socket::join(relay.channel_port(), TOKEN, place, Offload::System)
        .ok()
        .unwrap()
}

/// Returns the next datagram that a worker's socket receives, and its sender.
fn next(socket: &mut Socket) -> (SocketAddr, Vec<u8>) {
    for _ in 0..5000 {
        let mut got = None;
        socket.receive(|_, meta, bytes| got = Some((meta.addr, bytes.to_vec())));
        if let Some(got) = got {
            return got;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing came");
}

fn client() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

#[test]
fn packets_go_to_the_worker_that_made_their_connection_id_and_answers_leave_by_the_port() {
    let relay = relay();
    let mut workers: Vec<Socket> = (0..PLACES as u8).map(|place| join(&relay, place)).collect();
    let address = relay.shared.address;
    for (place, worker) in workers.iter_mut().enumerate() {
        assert_eq!(worker.address(), address);
        let client = client();
        client.send_to(&short(place as u8), address).unwrap();
        let (from, packet) = next(worker);
        assert_eq!((from, packet), (client.local_addr().unwrap(), short(place as u8)));
        let mut id = [9; GROUP_ID_BYTES];
        id[0] = place as u8;
        client.send_to(&long(&id), address).unwrap();
        assert_eq!(next(worker).1, long(&id));
        worker.send(
            quinn_proto::Transmit {
                destination: from,
                ecn: None,
                size: 5,
                segment_size: Some(3),
                src_ip: None,
            },
            b"ab345",
        );
        let mut buffer = [0; 64];
        let (length, sender) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], sender), (&b"ab3"[..], address));
        let (length, _) = client.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"45");
    }
}

#[test]
fn new_clients_go_to_places_that_accept_and_the_next_worker_of_a_place_takes_it() {
    let relay = relay();
    let (_old, mut other) = (join(&relay, 1), join(&relay, 2));
    let mut next_one = join(&relay, 1);
    relay.steer(&[1], &[]).ok().unwrap();
    for id in 0..20 {
        client().send_to(&long(&[id; 8]), relay.shared.address).unwrap();
        assert_eq!(next(&mut next_one).1, long(&[id; 8]));
    }
    relay.steer(&[2], &[]).ok().unwrap();
    client().send_to(&long(&[1; 8]), relay.shared.address).unwrap();
    assert_eq!(next(&mut other).1, long(&[1; 8]));
    client().send_to(&short(1), relay.shared.address).unwrap();
    assert_eq!(next(&mut next_one).1, short(1));
    relay.steer(&[2], &[1]).ok().unwrap();
    client().send_to(&short(1), relay.shared.address).unwrap();
    assert_eq!(next(&mut other).1, short(1));
    assert!(relay.steer(&[], &[]).is_err());
    assert!(relay.steer(&[3], &[]).is_err());
    assert!(relay.steer(&[0], &[3]).is_err());
}

#[test]
fn who_does_not_know_the_token_is_not_heard_and_takes_no_place() {
    let relay = relay();
    let mut worker = join(&relay, 0);
    let channel = (Ipv4Addr::LOCALHOST, relay.channel_port());
    let (stranger, victim) = (client(), client());
    let mut forged = Vec::new();
    Head::greeting(0, relay.shared.address).write(&[4; 16], &[], &mut forged);
    stranger.send_to(&forged, channel).unwrap();
    let mut head = Head::greeting(0, victim.local_addr().unwrap());
    head.greeting = false;
    head.write(&[4; 16], b"forged", &mut forged);
    stranger.send_to(&forged, channel).unwrap();
    head.write(&TOKEN, b"genuine", &mut forged);
    worker.io().send_to(&forged, channel).unwrap();
    let mut buffer = [0; 64];
    let length = victim.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"genuine");
    stranger.send_to(&short(0), relay.shared.address).unwrap();
    assert_eq!(next(&mut worker).0, stranger.local_addr().unwrap());
    // A worker also ignores packets that did not come through the relay.
    head.write(&[4; 16], b"forged", &mut forged);
    stranger.send_to(&forged, worker.io().local_addr().unwrap()).unwrap();
    head.write(&TOKEN, b"forged", &mut forged);
    stranger.send_to(&forged, worker.io().local_addr().unwrap()).unwrap();
    stranger.send_to(&short(3), relay.shared.address).unwrap();
    assert_eq!(next(&mut worker).1, short(3));
    assert!(Socket::join(relay.channel_port(), [4; 16], 0, Offload::System).is_err());
}

#[test]
fn packets_of_places_without_a_worker_and_such_as_are_cut_off_are_dropped() {
    let relay = relay();
    let mut worker = join(&relay, 0);
    let client = client();
    for packet in [
        &[][..],
        &[0x40],
        &[0xc0],
        &[0xc0, 0, 0, 0, 1],
        &[0xc0, 0, 0, 0, 1, 8, 1],
    ] {
        client.send_to(packet, relay.shared.address).unwrap();
    }
    client.send_to(&short(1), relay.shared.address).unwrap();
    client.send_to(&short(0), relay.shared.address).unwrap();
    assert_eq!(next(&mut worker).1, short(0));
}

#[test]
fn a_worker_that_does_not_read_holds_up_nobody() {
    let relay = relay();
    let (_stopped, mut other) = (join(&relay, 0), join(&relay, 1));
    let client = client();
    let flood = [short(0), vec![7; 1000]].concat();
    // More than any socket's buffer holds.
    for _ in 0..20_000 {
        client.send_to(&flood, relay.shared.address).unwrap();
    }
    let mut got = false;
    while !got {
        client.send_to(&short(1), relay.shared.address).unwrap();
        other.receive(|_, _, bytes| got = bytes == short(1));
    }
}

#[test]
fn a_port_that_is_taken_is_and_is_free_after_the_relay() {
    let first = relay();
    let (address, host) = (first.shared.address, Some(first.shared.address.ip()));
    let again = || Relay::bind(host, address.port(), Offload::System, PLACES, TOKEN, GROUP_LAYOUT);
    assert_eq!(again().err().unwrap().code, "EADDRINUSE");
    drop(first);
    assert!(again().is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernel_and_the_relay_find_the_same_place() {
    use std::os::fd::FromRawFd;
    let host = Some(Ipv4Addr::LOCALHOST.into());
    let routed = Layout {
        place_at: 9,
        bytes: 14,
        first: Some(0x2d),
    };
    for layout in [GROUP_LAYOUT, routed] {
        let (address, descriptors) = crate::net::port_group::bind(host, 0, PLACES, layout).ok().unwrap();
        crate::net::port_group::steer(&descriptors, &[2, 0], &[], layout)
            .ok()
            .unwrap();
        let sockets: Vec<UdpSocket> = descriptors
            .iter()
            .map(|fd| crate::net::port_group::adopt(*fd).ok().unwrap())
            .collect();
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        for round in 0..300 {
            let mut packet: Vec<u8> = (0..60).map(|_| random()).collect();
            packet[5] = [layout.bytes as u8, 8, 20][round % 3];
            if round % 2 == 0 {
                packet[6] = 0x2d;
            }
            client().send_to(&packet, address).unwrap();
            let got = |socket: &UdpSocket| socket.recv(&mut [0; 64]).is_ok();
            let mut place = None;
            while place.is_none() {
                place = sockets.iter().position(got);
            }
            assert_eq!(place, place_of(&packet, PLACES, &[2, 0], layout));
        }
        for fd in descriptors {
            // SAFETY: they are this test's own.
            #[allow(unsafe_code)]
            drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) });
        }
    }
}
