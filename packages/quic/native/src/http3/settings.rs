//! SETTINGS (RFC 9114 §7.2.4) of both sides.

use super::credit::{ANNOUNCED, Credit};
use super::limits::FIELD_BYTES;
use super::{codes, frames, varint};

const MAX_FIELD_SECTION_SIZE: u64 = 0x06;
const ENABLE_CONNECT_PROTOCOL: u64 = 0x08;
const H3_DATAGRAM: u64 = 0x33;
/// H3_DATAGRAM of draft-ietf-masque-h3-datagram-04; Chromium still reads it.
const H3_DATAGRAM_DRAFT04: u64 = 0xff_d277;
/// The setting of draft-02, which Chromium, Firefox and aioquic use.
const ENABLE_WEBTRANSPORT: u64 = 0x2b60_3742;
/// The setting of drafts 07 to 12. It is read but not announced: Safari would treat a server that announces it as one
/// without flow control.
const WT_MAX_SESSIONS_DRAFT07: u64 = 0xc671_706a;
/// The setting of drafts 13 and 14, which Safari uses.
const WT_MAX_SESSIONS_DRAFT13: u64 = 0x14e9_cd29;
/// The setting from draft-15 on.
const WT_ENABLED: u64 = 0x2c7c_f000;
const WT_INITIAL_MAX_DATA: u64 = 0x2b61;
const WT_INITIAL_MAX_STREAMS_UNI: u64 = 0x2b64;
const WT_INITIAL_MAX_STREAMS_BIDI: u64 = 0x2b65;
/// A setting of the form 0x1f * N + 0x21: exercises that peers ignore unknown settings (RFC 9114 §7.2.4.1).
const GREASE: u64 = 0x1f * 0x0bad_cafe + 0x21;

/// Settings that the peer announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub extended_connect: bool,
    pub datagrams: bool,
    pub webtransport: bool,
    /// The peer supports draft-15 or later, and nothing earlier.
    pub only_recent: bool,
    /// The peer supports drafts 13 and 14, and nothing later: its flow control may read limits only from capsules.
    pub wants_capsules: bool,
    /// Limits for each of this side's sessions, if the peer announces flow control.
    pub credit: Option<Credit>,
}

impl Settings {
    /// `[id (varint), value (varint)]*`
    pub fn parse(mut payload: &[u8]) -> Result<Self, u64> {
        let mut settings = Settings::default();
        let mut seen = Vec::new();
        let (mut data, mut bidirectional, mut unidirectional) = (0, 0, 0);
        while !payload.is_empty() {
            let (Some(id), Some(value)) = (varint::take(&mut payload), varint::take(&mut payload)) else {
                return Err(codes::FRAME_ERROR);
            };
            let known = match id {
                // Settings of HTTP/2 that HTTP/3 forbids (RFC 9114 §7.2.4.1).
                0x00 | 0x02..=0x05 => return Err(codes::SETTINGS_ERROR),
                ENABLE_CONNECT_PROTOCOL => boolean(value, &mut settings.extended_connect),
                H3_DATAGRAM | H3_DATAGRAM_DRAFT04 => boolean(value, &mut settings.datagrams),
                ENABLE_WEBTRANSPORT => boolean(value, &mut settings.webtransport),
                WT_MAX_SESSIONS_DRAFT07 | WT_MAX_SESSIONS_DRAFT13 | WT_ENABLED => {
                    settings.webtransport |= value > 0;
                    true
                }
                WT_INITIAL_MAX_DATA => amount(value, &mut data),
                WT_INITIAL_MAX_STREAMS_BIDI => amount(value, &mut bidirectional),
                WT_INITIAL_MAX_STREAMS_UNI => amount(value, &mut unidirectional),
                _ => continue,
            };
            if !known || seen.contains(&id) {
                return Err(codes::SETTINGS_ERROR);
            }
            seen.push(id);
        }
        let streams = [bidirectional, unidirectional];
        settings.credit = Some(Credit { data, streams }).filter(Credit::is_announced);
        let earlier = [ENABLE_WEBTRANSPORT, WT_MAX_SESSIONS_DRAFT07, WT_MAX_SESSIONS_DRAFT13];
        settings.only_recent = seen.contains(&WT_ENABLED) && !earlier.iter().any(|id| seen.contains(id));
        settings.wants_capsules =
            settings.credit.is_some() && seen.contains(&WT_MAX_SESSIONS_DRAFT13) && !seen.contains(&WT_ENABLED);
        Ok(settings)
    }
}

fn boolean(value: u64, setting: &mut bool) -> bool {
    *setting |= value == 1;
    value <= 1
}

fn amount(value: u64, setting: &mut u64) -> bool {
    *setting = value;
    true
}

/// Makes this side's SETTINGS frame, with the settings of each draft that a known client reads, see docs/browsers.md.
/// QPACK's dynamic table stays at its default size of 0.
pub fn encode(max_sessions: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in [
        (MAX_FIELD_SECTION_SIZE, FIELD_BYTES as u64),
        (ENABLE_CONNECT_PROTOCOL, 1),
        (H3_DATAGRAM, 1),
        (H3_DATAGRAM_DRAFT04, 1),
        (ENABLE_WEBTRANSPORT, 1),
        (WT_MAX_SESSIONS_DRAFT13, max_sessions),
        (WT_ENABLED, 1),
        (WT_INITIAL_MAX_DATA, ANNOUNCED.data),
        (WT_INITIAL_MAX_STREAMS_BIDI, ANNOUNCED.streams[0]),
        (WT_INITIAL_MAX_STREAMS_UNI, ANNOUNCED.streams[1]),
        (GREASE, 1),
    ] {
        varint::put(id, &mut payload);
        varint::put(value, &mut payload);
    }
    frames::encode(frames::SETTINGS, &payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(pairs: &[(u64, u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        for &(id, value) in pairs {
            varint::put(id, &mut out);
            varint::put(value, &mut out);
        }
        out
    }

    #[test]
    fn our_own_settings_say_all_that_webtransport_needs() {
        let frame = encode(16);
        // Type 4, then a length of two bytes or one.
        let mut rest = &frame[1..];
        varint::take(&mut rest).unwrap();
        let all = Settings {
            extended_connect: true,
            datagrams: true,
            webtransport: true,
            only_recent: false,
            wants_capsules: false,
            credit: Some(ANNOUNCED),
        };
        assert_eq!(Settings::parse(rest), Ok(all));
    }

    #[test]
    fn each_draft_is_understood_and_unknown_settings_are_ignored() {
        for id in [
            ENABLE_WEBTRANSPORT,
            WT_MAX_SESSIONS_DRAFT07,
            WT_MAX_SESSIONS_DRAFT13,
            WT_ENABLED,
        ] {
            let settings = Settings::parse(&payload(&[(0x21, 7), (id, 1), (0x21, 9)])).unwrap();
            assert!(settings.webtransport && !settings.datagrams);
        }
        assert_eq!(Settings::parse(&[]), Ok(Settings::default()));
    }

    #[test]
    fn repeated_forbidden_and_truncated_settings_are_errors() {
        assert_eq!(
            Settings::parse(&payload(&[(0x08, 1), (0x08, 1)])),
            Err(codes::SETTINGS_ERROR)
        );
        assert_eq!(Settings::parse(&payload(&[(0x08, 2)])), Err(codes::SETTINGS_ERROR));
        assert_eq!(Settings::parse(&payload(&[(0x02, 0)])), Err(codes::SETTINGS_ERROR));
        assert_eq!(Settings::parse(&[0x08]), Err(codes::FRAME_ERROR));
    }
}
