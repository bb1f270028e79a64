//! Share of packets that a path loses.

use super::Path;

/// Number of packets that a share is measured over.
const SAMPLE_PACKETS: u64 = 512;

/// The share of packets that was lost in the last sample.
#[derive(Debug, Default)]
pub struct LossShare {
    sent: u64,
    lost: u64,
    share: f64,
}

impl LossShare {
    pub fn measure(&mut self, path: &Path) {
        let sent = path.sent.saturating_sub(self.sent);
        if sent >= SAMPLE_PACKETS {
            self.share = path.lost.saturating_sub(self.lost) as f64 / sent as f64;
            (self.sent, self.lost) = (path.sent, path.lost);
        }
    }

    pub fn get(&self) -> f64 {
        self.share
    }
}
