//! A congestion controller for networks that lose packets without being full, and what all controllers need to close.

mod closable;
mod losses;
mod queue;
mod steady;
mod window;

#[cfg(test)]
mod link;

pub use closable::{ClosableConfig, set_window_open};
pub use steady::SteadyConfig;
