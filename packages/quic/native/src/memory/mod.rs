//! A bounded cache, and memory returned to the system.

pub mod recent;
pub mod trim;
