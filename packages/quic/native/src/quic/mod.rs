//! Connections and streams of QUIC, and everything that configures quinn-proto.

pub mod config;
pub mod congestion;
pub mod connection;
pub mod id_map;
pub mod liveness;
#[cfg(test)]
mod path_tests;
pub mod receive_window;
pub mod redundancy;
pub mod secret;
#[cfg(test)]
pub mod simulated_pair;
pub mod stream;
mod stream_window;
pub mod tls;
