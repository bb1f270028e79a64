//! The only module that touches Node-API. Everything here runs on the JavaScript thread that owns the environment.

pub mod args;
pub mod bound;
pub mod hook;
pub mod page;
