//! The sockets of one port, one for each worker of a group. A byte of each connection id is the place of the worker
//! that made it; the kernel uses it to choose that worker's socket even if the client's address changes. Linux only.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};

use socket2::{SockRef, Type};

use crate::bridge::error::Failure;
use crate::ffi::steering::{Step, attach, borrow, duplicate, generation, is_claimed, mark, release, try_claim};
use crate::net::bind::{Sharing, bind_any, enlarge_buffers};
use crate::net::routing::Layout;

/// Places fit in a byte, with room to spare.
pub const MOST_PLACES: usize = 128;

/// RFC 9000 §17.2: the first bit of a long header.
const LONG_HEADER: u32 = 0x80;
/// Offset of the length of a long header's destination connection id; the id follows it.
const LENGTH_AT: u32 = 5;
const LONG_ID_AT: u32 = 6;
/// Offset of the destination connection id of a short header (§17.3).
const SHORT_ID_AT: u32 = 1;

/// Binds one socket for each place. The caller closes them.
pub fn bind(
    host: Option<IpAddr>,
    port: u16,
    places: usize,
    layout: Layout,
) -> Result<(SocketAddr, Vec<RawFd>), Failure> {
    if places == 0 || places > MOST_PLACES {
        return Err(Failure::option(format!(
            "places must be 1 to {MOST_PLACES}, not {places}"
        )));
    }
    // The first is bound without sharing, which fails if another group uses the port.
    let first = bind_any(host, port, Sharing::None)?;
    let address = local_address(&first)?;
    let shared = SockRef::from(&first).set_reuse_port(true);
    shared.map_err(|error| Failure::system(&error, "share the port"))?;
    let mut sockets = vec![first];
    for _ in 1..places {
        sockets.push(bind_any(Some(address.ip()), address.port(), Sharing::Port)?);
    }
    sockets.iter().for_each(enlarge_buffers);
    let all: Vec<u8> = (0..places as u8).collect();
    let descriptors: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    steer(&descriptors, &all, &[], layout)?;
    Ok((address, sockets.into_iter().map(IntoRawFd::into_raw_fd).collect()))
}

/// Claims `wanted` places of a group whose sockets another process has bound: the first ones in this order that no
/// process has claimed. They stay claimed until this process ends or closes one of their descriptors.
pub fn claim(descriptors: &[RawFd], wanted: usize) -> Result<(SocketAddr, Vec<u8>), Failure> {
    let failed = |error: io::Error| Failure::system(&error, "take a socket of the group");
    if descriptors.is_empty() || descriptors.len() > MOST_PLACES {
        return Err(Failure::option(format!("a group must have 1 to {MOST_PLACES} places")));
    }
    let addresses: Result<Vec<SocketAddr>, Failure> = descriptors.iter().map(|fd| datagram_address(*fd)).collect();
    let addresses = addresses?;
    if addresses.iter().any(|address| *address != addresses[0]) {
        return Err(Failure::option("the sockets of a group must all have the same address"));
    }
    let mut claimed = Vec::new();
    for (place, descriptor) in descriptors.iter().enumerate() {
        if claimed.len() < wanted && try_claim(*descriptor).map_err(failed)? {
            claimed.push(place as u8);
        }
    }
    if claimed.len() == wanted {
        return Ok((addresses[0], claimed));
    }
    for place in claimed {
        release(descriptors[usize::from(place)]);
    }
    Err(failed(io::Error::from_raw_os_error(libc::EADDRINUSE)))
}

/// Releases what `claim` has claimed.
pub fn unclaim(descriptor: RawFd) {
    release(descriptor);
}

/// The places that no process has claimed. The system does not report this process's own claims, so `own` is left out.
fn unclaimed(descriptors: &[RawFd], own: &[u8]) -> Vec<u8> {
    let places = 0..descriptors.len() as u8;
    places
        .filter(|place| !own.contains(place) && !is_claimed(descriptors[usize::from(*place)]))
        .collect()
}

/// Routes new clients to places that this process has claimed, and packets for places without a worker in any process
/// to the first of them. The last process to do so decides: `turn` is the previous result or 0, and nothing changes if
/// another process has done so since.
pub fn steer_claimed(
    descriptors: &[RawFd],
    accepting: &[u8],
    empty: &[u8],
    own: &[u8],
    turn: u32,
    layout: Layout,
) -> Result<u32, Failure> {
    let is_own = |place: usize| own.iter().any(|each| usize::from(*each) == place);
    let others = descriptors.iter().enumerate().filter(|(place, _)| !is_own(*place));
    let last = others.map(|(_, fd)| generation(*fd)).max().unwrap_or(0);
    if turn != 0 && last > turn {
        return Ok(turn);
    }
    let turn = if turn == 0 { last + 1 } else { turn };
    for place in own {
        let Some(descriptor) = descriptors.get(usize::from(*place)) else {
            continue;
        };
        mark(*descriptor, turn).map_err(|error| Failure::system(&error, "mark a socket of the group"))?;
    }
    let gone = [empty, &unclaimed(descriptors, own)].concat();
    steer(descriptors, accepting, &gone, layout)?;
    Ok(turn)
}

fn datagram_address(descriptor: RawFd) -> Result<SocketAddr, Failure> {
    let failed = |error: io::Error| Failure::system(&error, "use the socket that was passed");
    let socket = borrow(descriptor).map_err(failed)?;
    let socket = SockRef::from(&socket);
    let address = socket.local_addr().map_err(failed)?.as_socket();
    match (socket.r#type().map_err(failed)?, address) {
        (Type::DGRAM, Some(address)) => Ok(address),
        _ => Err(Failure::option(format!("descriptor {descriptor} is not a UDP socket"))),
    }
}

/// Routes new clients only to the places in `accepting`, and packets for the places in `gone` to the first of them,
/// which answers that their sessions have ended. Clients with a session stay with its worker.
pub fn steer(descriptors: &[RawFd], accepting: &[u8], gone: &[u8], layout: Layout) -> Result<(), Failure> {
    let places = descriptors.len();
    let is_place = |place: &u8| usize::from(*place) < places;
    let steered = if accepting.is_empty() || !accepting.iter().chain(gone).all(is_place) {
        Err(io::Error::from(io::ErrorKind::InvalidInput))
    } else if places == 1 {
        Ok(())
    } else {
        attach(descriptors[0], &program(places as u32, accepting, gone, layout))
    };
    steered.map_err(|error| Failure::system(&error, "steer packets"))
}

/// Makes a worker's own handle for the socket of its place.
pub fn adopt(descriptor: RawFd) -> Result<UdpSocket, Failure> {
    let socket = duplicate(descriptor).map(UdpSocket::from);
    socket.map_err(|error| Failure::system(&error, "take the group's socket"))
}

fn local_address(socket: &UdpSocket) -> Result<SocketAddr, Failure> {
    socket
        .local_addr()
        .map_err(|error| Failure::system(&error, "find the port"))
}

/// The program that finds a packet's place. New clients choose their first connection id at random (§7.2), and with it
/// their place.
fn program(places: u32, accepting: &[u8], gone: &[u8], layout: Layout) -> Vec<Step> {
    use libc::{
        BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_MOD, BPF_RET, BPF_W,
    };
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
    // Comparisons reach at most 255 steps, this jump any distance.
    let skip = |steps: &[Step]| step(BPF_JMP | BPF_JA, steps.len() as u32);
    let by_id = |at: u32| {
        let mut steps = vec![
            step(BPF_LD | BPF_B | BPF_ABS, at + layout.place_at as u32),
            step(BPF_ALU | BPF_MOD | BPF_K, places),
        ];
        for place in gone {
            steps.push(test(BPF_JEQ, u32::from(*place), 0, 1));
            steps.push(step(BPF_RET | BPF_K, u32::from(accepting[0])));
        }
        steps.push(step(BPF_RET | BPF_A, 0));
        steps
    };
    let (short, mut long) = (by_id(SHORT_ID_AT), by_id(LONG_ID_AT));
    if let Some(first) = layout.first {
        let known = [
            step(BPF_LD | BPF_B | BPF_ABS, LONG_ID_AT),
            test(BPF_JEQ, u32::from(first), 1, 0),
            skip(&long),
        ];
        long.splice(0..0, known);
    }
    let mut program = vec![
        step(BPF_LD | BPF_B | BPF_ABS, 0),
        test(BPF_JSET, LONG_HEADER, 0, 1),
        skip(&short),
    ];
    program.extend(short);
    program.push(step(BPF_LD | BPF_B | BPF_ABS, LENGTH_AT));
    program.push(test(BPF_JEQ, layout.bytes as u32, 1, 0));
    program.push(skip(&long));
    program.extend(long);
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
    use crate::net::shared_port_ids::{GROUP_ID_BYTES, GROUP_LAYOUT};

    const PLACES: usize = 3;

    struct Group {
        address: SocketAddr,
        sockets: Vec<UdpSocket>,
        descriptors: Vec<RawFd>,
    }

    impl Group {
        fn new() -> Self {
            let (address, descriptors) = bind(Some(Ipv4Addr::LOCALHOST.into()), 0, PLACES, GROUP_LAYOUT).unwrap();
            let sockets = descriptors.iter().map(|fd| adopt(*fd).unwrap()).collect();
            Group {
                address,
                sockets,
                descriptors,
            }
        }

        /// Returns the place that receives a packet sent from a new port.
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
        steer(&group.descriptors, &[0, 2], &[], GROUP_LAYOUT).unwrap();
        assert_eq!(places(&group), BTreeSet::from([0, 2]));
        assert_eq!(group.place_of(&short(1)), 1);
        assert!(steer(&group.descriptors, &[], &[], GROUP_LAYOUT).is_err());
        assert!(steer(&group.descriptors, &[3], &[], GROUP_LAYOUT).is_err());
        assert!(steer(&group.descriptors, &[0], &[3], GROUP_LAYOUT).is_err());
    }

    #[test]
    fn ids_that_a_balancer_routes_by_have_the_place_elsewhere() {
        let layout = Layout {
            place_at: 9,
            bytes: 14,
            first: Some(0x2d),
        };
        let group = Group::new();
        steer(&group.descriptors, &[0], &[], layout).unwrap();
        for place in 0..PLACES {
            let mut id = [[0x2d].as_slice(), &[7; 13]].concat();
            id[9] = place as u8;
            assert_eq!(group.place_of(&[&[0x40][..], &id, &[0; 30]].concat()), place);
            assert_eq!(group.place_of(&long(&id)), place);
            // An id of the same length, chosen by a client.
            id[0] ^= 1;
            assert_eq!(group.place_of(&long(&id)), 0);
        }
    }

    #[test]
    fn packets_of_places_that_are_gone_go_to_one_that_accepts() {
        let group = Group::new();
        steer(&group.descriptors, &[1], &[0], GROUP_LAYOUT).unwrap();
        for place in 0..PLACES {
            let expected = if place == 0 { 1 } else { place };
            assert_eq!(group.place_of(&short(place as u8)), expected);
            let mut id = [9; GROUP_ID_BYTES];
            id[0] = place as u8;
            assert_eq!(group.place_of(&long(&id)), expected);
        }
    }

    #[test]
    fn places_of_sockets_that_are_passed_are_claimed() {
        let group = Group::new();
        let (address, places) = claim(&group.descriptors, 2).unwrap();
        assert_eq!((address, places), (group.address, vec![0, 1]));
        assert_eq!(unclaimed(&group.descriptors, &[0, 1]), vec![2]);
        assert_eq!(claim(&group.descriptors, PLACES + 1).unwrap_err().code, "EADDRINUSE");
        assert!(claim(&[-1], 1).is_err());
        assert!(claim(&[], 1).is_err());
    }

    #[test]
    fn a_port_that_another_group_has_is_taken() {
        let group = Group::new();
        let again = bind(Some(group.address.ip()), group.address.port(), PLACES, GROUP_LAYOUT);
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
