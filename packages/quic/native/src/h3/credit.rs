//! Flow control of sessions (draft-ietf-webtrans-http3-16 §5): how much a peer may send on a session's streams together,
//! and how many of them it may open. It holds where both peers have announced some of it in their SETTINGS.

/// Credit for one direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Bytes on all streams, their headers apart.
    pub data: u64,
    /// Streams opened since the session's beginning: bidirectional, unidirectional.
    pub streams: [u64; 2],
}

/// The most streams that a capsule may grant.
pub const MOST_STREAMS: u64 = 1 << 60;

/// The credit in this side's SETTINGS: more than any session uses. Memory is bounded by QUIC's own flow control, of each
/// stream and of the connection, which does not leak the credit of streams that are reset.
pub const ANNOUNCED: Credit = Credit {
    data: 1 << 59,
    streams: [1 << 59; 2],
};

/// The credit in capsules, for peers that may not look for it in SETTINGS. A capsule has to grant more than was granted before.
pub const GRANTED: Credit = Credit {
    data: MOST_STREAMS,
    streams: [MOST_STREAMS; 2],
};

/// Least value that counts as no limit: 9 petabytes.
const ENOUGH: u64 = 1 << 53;

impl Credit {
    /// Whether a session may come to its end.
    pub fn is_scarce(&self) -> bool {
        self.data < ENOUGH || self.streams.iter().any(|&streams| streams < ENOUGH)
    }

    /// Whether a peer announces flow control by it.
    pub fn is_announced(&self) -> bool {
        self.data > 0 || self.streams.iter().any(|&streams| streams > 0)
    }
}
