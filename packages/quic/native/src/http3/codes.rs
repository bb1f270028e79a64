//! Error codes of HTTP/3 (RFC 9114 §8.1), QPACK (RFC 9204 §6) and WebTransport, and the mapping of application codes.

pub const DATAGRAM_ERROR: u64 = 0x33;
pub const NO_ERROR: u64 = 0x100;
pub const STREAM_CREATION_ERROR: u64 = 0x103;
pub const CLOSED_CRITICAL_STREAM: u64 = 0x104;
pub const FRAME_UNEXPECTED: u64 = 0x105;
pub const FRAME_ERROR: u64 = 0x106;
pub const EXCESSIVE_LOAD: u64 = 0x107;
pub const ID_ERROR: u64 = 0x108;
pub const SETTINGS_ERROR: u64 = 0x109;
pub const MISSING_SETTINGS: u64 = 0x10a;
pub const REQUEST_REJECTED: u64 = 0x10b;
pub const REQUEST_CANCELLED: u64 = 0x10c;
pub const MESSAGE_ERROR: u64 = 0x10e;
pub const QPACK_DECOMPRESSION_FAILED: u64 = 0x200;
pub const WT_SESSION_GONE: u64 = 0x170d_7b68;
pub const WT_BUFFERED_STREAM_REJECTED: u64 = 0x3994_bd84;
pub const WT_FLOW_CONTROL_ERROR: u64 = 0x045d_4487;

/// Whether a stream reset with this code shows that its session has ended. Firefox sends H3_REQUEST_CANCELLED.
pub fn ends_session(code: u64) -> bool {
    matches!(code, WT_SESSION_GONE | REQUEST_CANCELLED)
}

const FIRST: u64 = 0x52e4_a40f_a8db;
const LAST: u64 = 0x52e5_ac98_3162;

/// Maps an application code to HTTP/3: WT_APPLICATION_ERROR, which skips the codes reserved for GREASE.
pub fn to_http3(code: u32) -> u64 {
    let code = u64::from(code);
    FIRST + code + code / 0x1e
}

/// Returns the application code in an HTTP/3 code, or None if the code has another meaning.
pub fn from_http3(code: u64) -> Option<u32> {
    if !(FIRST..=LAST).contains(&code) || (code - 0x21).is_multiple_of(0x1f) {
        return None;
    }
    let shifted = code - FIRST;
    u32::try_from(shifted - shifted / 0x1f).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(to_http3(0), FIRST);
        assert_eq!(to_http3(u32::MAX), LAST);
        assert_eq!(from_http3(FIRST - 1), None);
        assert_eq!(from_http3(LAST + 1), None);
        assert_eq!(from_http3(NO_ERROR), None);
    }

    proptest::proptest! {
        #[test]
        fn codes_survive_both_ways(code: u32) {
            let wire = to_http3(code);
            proptest::prop_assert_ne!((wire - 0x21) % 0x1f, 0);
            proptest::prop_assert_eq!(from_http3(wire), Some(code));
        }
    }
}
