//! In the place of `group` where the system has no way to steer packets.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::error::Failure;

fn unsupported() -> Failure {
    Failure::option("a group of workers on one UDP port needs Linux")
}

pub fn bind(_: Option<IpAddr>, _: u16, _: usize) -> Result<(SocketAddr, Vec<i32>), Failure> {
    Err(unsupported())
}

pub fn steer(_: i32, _: usize, _: &[u8]) -> Result<(), Failure> {
    Err(unsupported())
}

pub fn adopt(_: i32) -> Result<UdpSocket, Failure> {
    Err(unsupported())
}
