//! Limits the rate of stateless resets (RFC 9000 §10.3.3). Each is smaller than the packet it answers, so resets cannot
//! amplify and two endpoints that answer each other soon fall silent; the limit bounds the work.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use super::admit::source;

const PERIOD: Duration = Duration::from_secs(1);
/// After a restart, as many sessions as a server has by default are reset within a second or two.
const MOST: u32 = 20_000;
const MOST_OF_A_SOURCE: u32 = 4_000;

/// Counts the resets of the current period: at most `MOST`, which also bounds the number of remembered sources.
#[derive(Default)]
pub(super) struct ResetLimit {
    began: Option<Instant>,
    sent: u32,
    by_source: HashMap<IpAddr, u32>,
}

impl ResetLimit {
    /// Whether another reset may be sent to `remote`.
    pub fn allow(&mut self, now: Instant, remote: SocketAddr) -> bool {
        if self
            .began
            .is_none_or(|began| now.saturating_duration_since(began) >= PERIOD)
        {
            self.began = Some(now);
            self.sent = 0;
            self.by_source = HashMap::new();
        }
        if self.sent >= MOST {
            return false;
        }
        let of_source = self.by_source.entry(source(remote)).or_default();
        if *of_source >= MOST_OF_A_SOURCE {
            return false;
        }
        *of_source += 1;
        self.sent += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> SocketAddr {
        (Ipv4Addr::from_bits(number), 1).into()
    }

    fn allowed(limit: &mut ResetLimit, now: Instant, remote: impl Fn(u32) -> SocketAddr) -> u32 {
        (0..2 * MOST).filter(|&at| limit.allow(now, remote(at))).count() as u32
    }

    #[test]
    fn one_source_leaves_room_for_others_and_all_have_a_limit() {
        let mut limit = ResetLimit::default();
        let now = Instant::now();
        assert_eq!(allowed(&mut limit, now, |_| address(1)), MOST_OF_A_SOURCE);
        assert_eq!(allowed(&mut limit, now, |at| address(2 + at)), MOST - MOST_OF_A_SOURCE);
        assert!(limit.by_source.len() <= MOST as usize);
        assert_eq!(allowed(&mut limit, now + PERIOD, |_| address(1)), MOST_OF_A_SOURCE);
        assert_eq!(limit.by_source.len(), 1);
    }
}
