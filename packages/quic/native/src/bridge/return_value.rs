//! Values that native functions return to JavaScript.

use std::net::SocketAddr;

use crate::bridge::error::Failure;

pub enum ReturnValue {
    Undefined,
    Number(f64),
    Text(String),
    /// Copied into a Buffer.
    Bytes(Vec<u8>),
    List(Vec<ReturnValue>),
}

impl From<Failure> for ReturnValue {
    /// `[source, code, message, closeCode | undefined, reason | undefined, status | undefined, address | undefined]`
    fn from(failure: Failure) -> Self {
        let (code, reason) = match failure.close {
            Some((code, reason)) => (ReturnValue::Number(code as f64), ReturnValue::Text(reason)),
            None => (ReturnValue::Undefined, ReturnValue::Undefined),
        };
        ReturnValue::List(vec![
            ReturnValue::Text(failure.source.as_str().to_owned()),
            ReturnValue::Text(failure.code.into_owned()),
            ReturnValue::Text(failure.message),
            code,
            reason,
            failure
                .status
                .map_or(ReturnValue::Undefined, |status| ReturnValue::Number(status.into())),
            failure.remote.map_or(ReturnValue::Undefined, ReturnValue::from),
        ])
    }
}

impl From<SocketAddr> for ReturnValue {
    /// `[host, port, family]`
    fn from(address: SocketAddr) -> Self {
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        ReturnValue::List(vec![
            ReturnValue::Text(address.ip().to_string()),
            ReturnValue::Number(address.port().into()),
            ReturnValue::Text(family.to_owned()),
        ])
    }
}
