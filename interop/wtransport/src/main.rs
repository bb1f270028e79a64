//! wtransport as a peer: the commands and scenarios of ../README.md, over WebTransport.
//!
//!   peer server DIRECTORY                     certificate in DIRECTORY; prints "port N"
//!   peer client PORT HASH SCENARIO...

mod client;
mod server;

use std::error::Error;
use wtransport::error::{StreamReadError, StreamWriteError};
use wtransport::{Connection, RecvStream, SendStream, VarInt};

pub type Failure = Box<dyn Error + Send + Sync>;
pub type Outcome<T = ()> = Result<T, Failure>;

pub const SIZE: usize = 10 << 20;

/// wtransport takes the code on the wire; the application's is mapped (WebTransport over HTTP/3, §4.3).
const FIRST_CODE: u64 = 0x52e4_a40f_a8db;

pub fn encode(code: u32) -> VarInt {
    VarInt::try_from(FIRST_CODE + u64::from(code) + u64::from(code) / 0x1e).expect("below 2^62")
}

pub fn decode(code: VarInt) -> u64 {
    let shifted = code.into_inner().wrapping_sub(FIRST_CODE);
    shifted - shifted / 0x1f
}

pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// Everything up to FIN; the code of a reset as an error.
pub async fn read_all(from: &mut RecvStream) -> Result<Vec<u8>, u64> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 65_536];
    loop {
        match from.read(&mut buffer).await {
            Ok(Some(count)) => all.extend_from_slice(&buffer[..count]),
            Ok(None) => return Ok(all),
            Err(StreamReadError::Reset(code)) => return Err(decode(code)),
            Err(_) => return Err(u64::MAX),
        }
    }
}

pub async fn read_line(from: &mut RecvStream) -> Outcome<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while from.read(&mut byte).await? == Some(1) && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    Ok(String::from_utf8(line)?)
}

/// Writes and ends, without waiting for the acknowledgement.
pub async fn send(mut to: SendStream, bytes: &[u8]) -> Outcome {
    to.write_all(bytes).await?;
    to.finish().await?;
    Ok(())
}

pub async fn stop_code(to: &mut SendStream) -> Outcome<u64> {
    match to.stopped().await {
        StreamWriteError::Stopped(code) => Ok(decode(code)),
        other => Err(other.into()),
    }
}

pub async fn send_uni(connection: &Connection, bytes: &[u8]) -> Outcome {
    send(connection.open_uni().await?.await?, bytes).await
}

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments[0].as_str() {
        "server" => server::run(&arguments[1]).await,
        _ => client::run(&arguments[1], &arguments[2], &arguments[3..]).await,
    }
}
