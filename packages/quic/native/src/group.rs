//! The sockets of one port, one for each worker of a group. The first byte of a connection id is the place of the worker that
//! made it, by which the kernel finds that worker's socket wherever the client is. Linux only.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, IntoRawFd, RawFd};

use socket2::SockRef;

use crate::error::Failure;
use crate::ffi::steering::{Step, attach, duplicate};
use crate::members::GROUP_ID_BYTES;
use crate::socket::{Sharing, bind_any};

/// Places fit in a byte, with room.
pub const MOST_PLACES: usize = 128;

/// RFC 9000 §17.2: the first bit of a long header.
const LONG_HEADER: u32 = 0x80;
/// Where the length of a long header's destination connection id is, and where that begins.
const LENGTH_AT: u32 = 5;
const LONG_ID_AT: u32 = 6;
/// Where the destination connection id of a short header begins (§17.3).
const SHORT_ID_AT: u32 = 1;

/// Binds one socket for each place. They are the caller's to close.
pub fn bind(host: Option<IpAddr>, port: u16, places: usize) -> Result<(SocketAddr, Vec<RawFd>), Failure> {
    if places == 0 || places > MOST_PLACES {
        return Err(Failure::option(format!(
            "a group has 1 to {MOST_PLACES} places, not {places}"
        )));
    }
    // The first is bound alone: sockets that share a port do not find it taken by another group.
    let first = bind_any(host, port, Sharing::None)?;
    let address = local_address(&first)?;
    let shared = SockRef::from(&first).set_reuse_port(true);
    shared.map_err(|error| Failure::system(&error, "share the port"))?;
    let mut sockets = vec![first];
    for _ in 1..places {
        sockets.push(bind_any(Some(address.ip()), address.port(), Sharing::Port)?);
    }
    let all: Vec<u8> = (0..places as u8).collect();
    steer_socket(sockets[0].as_fd(), places, &all).map_err(|error| Failure::system(&error, "steer packets"))?;
    Ok((address, sockets.into_iter().map(IntoRawFd::into_raw_fd).collect()))
}

/// Has new clients go to these places alone. Those that have a session stay with its worker.
pub fn steer(descriptor: RawFd, places: usize, accepting: &[u8]) -> Result<(), Failure> {
    let steered = duplicate(descriptor).and_then(|socket| steer_socket(socket.as_fd(), places, accepting));
    steered.map_err(|error| Failure::system(&error, "steer packets"))
}

/// A worker's own handle on the socket of its place.
pub fn adopt(descriptor: RawFd) -> Result<UdpSocket, Failure> {
    let socket = duplicate(descriptor).map(UdpSocket::from);
    socket.map_err(|error| Failure::system(&error, "take the group's socket"))
}

fn local_address(socket: &UdpSocket) -> Result<SocketAddr, Failure> {
    socket
        .local_addr()
        .map_err(|error| Failure::system(&error, "find the port"))
}

fn steer_socket(socket: std::os::fd::BorrowedFd, places: usize, accepting: &[u8]) -> io::Result<()> {
    if accepting.is_empty() || accepting.iter().any(|place| usize::from(*place) >= places) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    if places == 1 {
        return Ok(());
    }
    attach(socket, &program(places as u32, accepting))
}

/// The program that finds a packet's place. New clients choose their first connection id at random (§7.2), and so their place.
fn program(places: u32, accepting: &[u8]) -> Vec<Step> {
    use libc::{BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_MOD, BPF_RET, BPF_W};
    let step = |code: u32, constant: u32| Step {
        code,
        holds: 0,
        fails: 0,
        constant,
    };
    let test = |code: u32, constant: u32, holds: u8, fails: u8| Step {
        code: BPF_JMP | code | BPF_K,
        holds,
        fails,
        constant,
    };
    let by_id = |at: u32| {
        [
            step(BPF_LD | BPF_B | BPF_ABS, at),
            step(BPF_ALU | BPF_MOD | BPF_K, places),
            step(BPF_RET | BPF_A, 0),
        ]
    };
    let mut program = vec![step(BPF_LD | BPF_B | BPF_ABS, 0), test(BPF_JSET, LONG_HEADER, 3, 0)];
    program.extend(by_id(SHORT_ID_AT));
    program.push(step(BPF_LD | BPF_B | BPF_ABS, LENGTH_AT));
    program.push(test(BPF_JEQ, GROUP_ID_BYTES as u32, 0, 3));
    program.extend(by_id(LONG_ID_AT));
    program.push(step(BPF_LD | BPF_W | BPF_ABS, LONG_ID_AT));
    program.push(step(BPF_ALU | BPF_MOD | BPF_K, accepting.len() as u32));
    for (index, place) in accepting.iter().enumerate() {
        program.push(test(BPF_JEQ, index as u32, 0, 1));
        program.push(step(BPF_RET | BPF_K, u32::from(*place)));
    }
    program.push(step(BPF_RET | BPF_K, 0));
    program
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::time::Duration;

    use super::*;

    const PLACES: usize = 3;

    struct Group {
        address: SocketAddr,
        sockets: Vec<UdpSocket>,
        descriptors: Vec<RawFd>,
    }

    impl Group {
        fn new() -> Self {
            let (address, descriptors) = bind(Some(Ipv4Addr::LOCALHOST.into()), 0, PLACES).unwrap();
            let sockets = descriptors.iter().map(|fd| adopt(*fd).unwrap()).collect();
            Group {
                address,
                sockets,
                descriptors,
            }
        }

        /// The place that a packet from a port of its own comes to.
        fn place_of(&self, packet: &[u8]) -> usize {
            let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            client.send_to(packet, self.address).unwrap();
            let got = |socket: &UdpSocket| socket.recv(&mut [0; 64]).is_ok();
            for _ in 0..1000 {
                if let Some(place) = self.sockets.iter().position(got) {
                    return place;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            panic!("the packet came to no socket");
        }
    }

    impl Drop for Group {
        #[allow(unsafe_code)]
        fn drop(&mut self) {
            for fd in &self.descriptors {
                // SAFETY: they are this group's own.
                drop(unsafe { OwnedFd::from_raw_fd(*fd) });
            }
        }
    }

    fn short(place: u8) -> Vec<u8> {
        [&[0x40, place][..], &[7; 30]].concat()
    }

    fn long(id: &[u8]) -> Vec<u8> {
        [&[0xc0, 0, 0, 0, 1, id.len() as u8][..], id, &[0; 30]].concat()
    }

    #[test]
    fn packets_find_the_worker_that_made_their_connection_id() {
        let group = Group::new();
        for round in 0..20 {
            for place in 0..PLACES {
                assert_eq!(group.place_of(&short(place as u8)), place);
                let mut id = [round; GROUP_ID_BYTES];
                id[0] = place as u8;
                assert_eq!(group.place_of(&long(&id)), place);
            }
        }
    }

    #[test]
    fn new_clients_go_to_the_places_that_accept_and_others_stay() {
        let group = Group::new();
        let places =
            |group: &Group| -> BTreeSet<usize> { (0..60u8).map(|at| group.place_of(&long(&[at; 8]))).collect() };
        assert_eq!(places(&group), BTreeSet::from([0, 1, 2]));
        steer(group.descriptors[1], PLACES, &[0, 2]).unwrap();
        assert_eq!(places(&group), BTreeSet::from([0, 2]));
        assert_eq!(group.place_of(&short(1)), 1);
        assert!(steer(group.descriptors[0], PLACES, &[]).is_err());
        assert!(steer(group.descriptors[0], PLACES, &[3]).is_err());
    }

    #[test]
    fn a_port_that_another_group_has_is_taken() {
        let group = Group::new();
        let again = bind(Some(group.address.ip()), group.address.port(), PLACES);
        assert_eq!(again.unwrap_err().code, "EADDRINUSE");
    }

    #[test]
    fn packets_that_are_cut_off_cost_nothing() {
        let group = Group::new();
        for packet in [&[0x40][..], &[0xc0], &[0xc0, 0, 0, 0, 1], &[0xc0, 0, 0, 0, 1, 8, 1]] {
            group.place_of(packet);
        }
    }
}
