//! gRPC in Rust (tonic), over TLS 1.3, as a peer of the bench: bench/src/protocol.ts says what is said to it. One thread at each end.
mod client;
mod server;

mod proto {
    tonic::include_proto!("bench.v1");
}

use quicrpc_bench_peer::Failure;

fn main() -> Result<(), Failure> {
    quicrpc_bench_peer::main(server::serve, client::Client::new)
}
