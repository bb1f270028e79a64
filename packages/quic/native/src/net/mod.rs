//! UDP sockets, and ports that several workers share: by the kernel's steering, or by a relay.

pub mod bind;
#[cfg(target_os = "linux")]
pub mod port_group;
#[cfg(not(target_os = "linux"))]
#[path = "no_port_group.rs"]
pub mod port_group;
pub mod relay;
pub mod relay_envelope;
pub mod routing;
pub mod shared_port_ids;
pub mod socket;
