//! Replaces `group` on systems that cannot steer packets.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::bridge::error::Failure;
use crate::net::routing::Layout;

fn unsupported() -> Failure {
    Failure::option("steering \"kernel\" requires Linux; use \"relay\"")
}

pub fn bind(_: Option<IpAddr>, _: u16, _: usize, _: Layout) -> Result<(SocketAddr, Vec<i32>), Failure> {
    Err(unsupported())
}

pub fn claim(_: &[i32], _: usize) -> Result<(SocketAddr, Vec<u8>), Failure> {
    Err(unsupported())
}

pub fn unclaim(_: i32) {}

pub fn steer_claimed(_: &[i32], _: &[u8], _: &[u8], _: &[u8], _: u32, _: Layout) -> Result<u32, Failure> {
    Err(unsupported())
}

pub fn steer(_: &[i32], _: &[u8], _: &[u8], _: Layout) -> Result<(), Failure> {
    Err(unsupported())
}

pub fn adopt(_: i32) -> Result<UdpSocket, Failure> {
    Err(unsupported())
}
