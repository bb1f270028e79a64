//! Cap'n Proto RPC on one bidirectional QUIC stream, as a peer of the bench: bench/src/protocol.ts says what is said to
//! it. One thread at each end, as capnp-rpc wants it.
mod client;
mod server;

#[allow(clippy::all)]
mod bench_capnp {
    include!(concat!(env!("OUT_DIR"), "/bench_capnp.rs"));
}

use capnp_rpc::{rpc_twoparty_capnp::Side, twoparty::VatNetwork};
use client::Client;
use futures::io::{BufReader, BufWriter};
use quicrpc_bench_peer::Failure;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

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
    quicrpc_bench_peer::main(async |host, cert, key| server::serve(host, cert, key), Client::new)
}
