//! Cap'n Proto RPC on one bidirectional QUIC stream, as a peer of the bench: bench/src/protocol.ts says what is said to
//! it. One thread at each end, as capnp-rpc wants it.
mod client;
mod server;
mod task;
mod usage;

#[allow(clippy::all)]
mod bench_capnp {
    include!(concat!(env!("OUT_DIR"), "/bench_capnp.rs"));
}

use capnp_rpc::{rpc_twoparty_capnp::Side, twoparty::VatNetwork};
use client::Client;
use futures::io::{BufReader, BufWriter};
use serde_json::{Value, json};
use std::error::Error;
use task::Command;
use tokio::io::{AsyncBufReadExt, BufReader as Lines};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};
use usage::Usage;

pub type Failure = Box<dyn Error>;

pub const ALPN: &[u8] = b"capnp";
/// Bytes of streaming calls that may be unanswered; capnp-rpc's own default of 64 KiB would hold a stream back.
const STREAM_WINDOW: usize = 1024 * 1024;

/// What capnp-rpc speaks over: a QUIC stream, buffered at both ends as its own examples do for TCP.
pub fn network(
    receive: quinn::RecvStream,
    send: quinn::SendStream,
    side: Side,
) -> Box<VatNetwork<BufReader<impl futures::AsyncRead>>> {
    let reader = BufReader::new(TokioAsyncReadCompatExt::compat(receive));
    let writer = BufWriter::new(TokioAsyncWriteCompatExt::compat_write(send));
    let mut network = VatNetwork::new(reader, writer, side, Default::default());
    network.set_window_size(STREAM_WINDOW);
    Box::new(network)
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, run(std::env::args().skip(1).collect()))
}

async fn run(args: Vec<String>) -> Result<(), Failure> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let client = match args[..] {
        ["server", host, cert, key] => {
            say(&json!({ "ready": server::serve(host, cert, key)? }));
            None
        }
        ["client", host, port, cert] => {
            let client = Client::new(host, port, cert)?;
            say(&json!({ "ready": 0 }));
            Some(client)
        }
        _ => return Err("usage: server HOST CERT KEY | client HOST PORT CERT".into()),
    };
    let mut lines = Lines::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match answer(serde_json::from_str(&line)?, client.as_ref()).await {
            Ok(answer) => answer,
            Err(error) => json!({ "failed": error.to_string() }),
        };
        say(&answer);
    }
    Ok(())
}

async fn answer(command: Command, client: Option<&Client>) -> Result<Value, Failure> {
    match (command, client) {
        (Command { usage: Some(_), .. }, _) => Ok(json!({ "usage": Usage::now() })),
        (Command { prepare: Some(task), connections, .. }, Some(client)) => {
            if !task.possible() {
                return Ok(json!({ "cannot": true }));
            }
            client.prepare(&task, connections).await?;
            Ok(json!({ "ready": 0 }))
        }
        (Command { run: Some(task), amount, .. }, Some(client)) => {
            let before = Usage::now();
            let outcome = client.run(&task, amount).await?;
            let Usage { cpu, megabytes, peak_megabytes } = Usage::now();
            Ok(json!({ "run": {
                "cpu": cpu - before.cpu, "megabytes": megabytes, "peakMegabytes": peak_megabytes,
                "seconds": outcome.seconds, "errors": outcome.errors, "latency": outcome.latency,
            } }))
        }
        _ => Err("no such command".into()),
    }
}

fn say(answer: &Value) {
    println!("{answer}");
}
