//! Flow control of sessions (draft-ietf-webtrans-http3-16 §5): how much a peer may send on all streams of a session,
//! and how many streams it may open. It applies if both peers have announced limits in their SETTINGS.

/// Limits of one direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Bytes on all streams, without their headers.
    pub data: u64,
    /// Streams opened since the session began: bidirectional, unidirectional.
    pub streams: [u64; 2],
}

/// Maximum number of streams that a capsule may grant.
pub const MOST_STREAMS: u64 = 1 << 60;

/// The limits in this side's SETTINGS: more than any session uses. Memory is bounded by QUIC's own flow control of
/// streams and of the connection, which does not leak the credit of streams that are reset.
pub const ANNOUNCED: Credit = Credit {
    data: 1 << 59,
    streams: [1 << 59; 2],
};

/// The limits in capsules, for peers that may ignore those in SETTINGS. A capsule must grant more than was granted
/// before.
pub const GRANTED: Credit = Credit {
    data: MOST_STREAMS,
    streams: [MOST_STREAMS; 2],
};

/// Smallest value that counts as unlimited: 9 petabytes.
const ENOUGH: u64 = 1 << 53;

impl Credit {
    /// Whether a session may reach one of the limits.
    pub fn is_scarce(&self) -> bool {
        self.data < ENOUGH || self.streams.iter().any(|&streams| streams < ENOUGH)
    }

    /// Whether a peer with these values announces flow control.
    pub fn is_announced(&self) -> bool {
        self.data > 0 || self.streams.iter().any(|&streams| streams > 0)
    }
}
