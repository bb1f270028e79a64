//! A congestion controller for networks with random loss, and the wrapper that lets every controller send its close.

mod closable;
mod losses;
mod queue;
mod steady;
mod window;

#[cfg(test)]
mod link;

pub use closable::{ClosableConfig, set_window_open};
pub use steady::SteadyConfig;
