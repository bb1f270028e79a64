//! A congestion controller for networks that lose packets without being full.

mod losses;
mod queue;
mod steady;
mod window;

#[cfg(test)]
mod link;

pub use steady::SteadyConfig;
