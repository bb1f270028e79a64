//! Binds UDP sockets, and sizes their buffers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, SockRef, Type};

use crate::bridge::error::Failure;

/// Bytes requested from the kernel for SO_RCVBUF and SO_SNDBUF; its own limits cap them. With Linux's default of 208
/// KiB a bulk transfer loses datagrams whenever its reader is briefly busy.
const BUFFER_BYTES: usize = 4 << 20;
/// Smaller buffers are not worth requesting.
const LEAST_BUFFER_BYTES: usize = 64 << 10;

/// Linux reports twice the size that was set (socket(7)).
const BOOKKEEPING: usize = if cfg!(target_os = "linux") { 2 } else { 1 };

/// Whether other sockets may be bound to the same port (SO_REUSEPORT); the kernel then spreads peers over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    None,
    Port,
    /// The socket of this place, on the port of a group of workers.
    Group(u8),
}

/// The sizes of the socket's buffers in bytes: granted, and requested.
pub struct Buffers {
    pub receive: usize,
    pub send: usize,
    pub asked: usize,
}

/// Without a host, binds dual-stack `::`, or `0.0.0.0` if IPv6 is unavailable.
pub fn bind_any(host: Option<IpAddr>, port: u16, sharing: Sharing) -> Result<UdpSocket, Failure> {
    let bound = match host {
        Some(ip) => bind(ip, port, sharing),
        None => bind(Ipv6Addr::UNSPECIFIED.into(), port, sharing).or_else(|error| {
            match error.kind() {
                // Do not fall back if the port is in use: that would hide the error.
                io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
                _ => bind(Ipv4Addr::UNSPECIFIED.into(), port, sharing),
            }
        }),
    };
    let wanted = SocketAddr::new(host.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    bound.map_err(|error| Failure::system(&error, &format!("bind UDP {wanted}")))
}

fn bind(ip: IpAddr, port: u16, sharing: Sharing) -> io::Result<UdpSocket> {
    let address = SocketAddr::new(ip, port);
    let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    if sharing == Sharing::Port {
        #[cfg(unix)]
        socket.set_reuse_port(true)?;
        #[cfg(not(unix))]
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Requests larger buffers. A failure is harmless; the granted sizes are reported in the stats.
pub fn enlarge_buffers(io: &UdpSocket) {
    let socket = SockRef::from(io);
    let _ = largest(|bytes| socket.set_recv_buffer_size(bytes));
    let _ = largest(|bytes| socket.set_send_buffer_size(bytes));
    // With CAP_NET_ADMIN, beyond net.core.rmem_max and wmem_max.
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force};
        if socket
            .recv_buffer_size()
            .is_ok_and(|size| size / BOOKKEEPING < BUFFER_BYTES)
        {
            let _ = set_socket_recv_buffer_size_force(io, BUFFER_BYTES);
        }
        if socket
            .send_buffer_size()
            .is_ok_and(|size| size / BOOKKEEPING < BUFFER_BYTES)
        {
            let _ = set_socket_send_buffer_size_force(io, BUFFER_BYTES);
        }
    }
}

/// Requests `BUFFER_BYTES`, then half of it and so on: Linux grants as much as its limit allows, but macOS and FreeBSD
/// refuse anything larger and would leave the socket with a few KiB.
fn largest<E>(mut set: impl FnMut(usize) -> Result<(), E>) -> Option<usize> {
    let halves = std::iter::successors(Some(BUFFER_BYTES), |bytes| Some(bytes / 2));
    halves
        .take_while(|bytes| *bytes >= LEAST_BUFFER_BYTES)
        .find(|bytes| set(*bytes).is_ok())
}

/// Reads the sizes of a socket's buffers.
pub fn granted_buffers(io: &UdpSocket) -> Buffers {
    let socket = SockRef::from(io);
    let granted = |size: io::Result<usize>| size.unwrap_or(0) / BOOKKEEPING;
    Buffers {
        asked: BUFFER_BYTES,
        receive: granted(socket.recv_buffer_size()),
        send: granted(socket.send_buffer_size()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_large_as_the_system_takes() {
        let granted = |limit| largest(|bytes| if bytes > limit { Err(()) } else { Ok(()) });
        assert_eq!(granted(usize::MAX), Some(BUFFER_BYTES));
        assert_eq!(granted(BUFFER_BYTES - 1), Some(BUFFER_BYTES / 2));
        assert_eq!(granted(100 << 10), Some(LEAST_BUFFER_BYTES));
        assert_eq!(granted(1), None);
    }
}
