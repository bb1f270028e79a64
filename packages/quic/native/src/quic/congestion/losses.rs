//! Recent share of lost packets.

/// After this many bytes earlier ones count half: about 400 packets.
const MEMORY: u64 = 512 * 1024;
/// With fewer bytes than this the share is not meaningful.
const ENOUGH: u64 = 64 * 1200;
/// No path loses a tenth at random for long: a higher share means congestion, whatever the delay.
const MOST_BY_CHANCE: f64 = 0.1;

/// Bytes acknowledged and lost. Older bytes count less.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    acknowledged: u64,
    lost: u64,
}

impl Losses {
    pub fn acknowledged(&mut self, bytes: u64) {
        self.acknowledged += bytes;
        self.forget();
    }

    pub fn lost(&mut self, bytes: u64) {
        self.lost += bytes;
        self.forget();
    }

    /// Subtracts bytes that were counted as lost but arrived late.
    pub fn forgive(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    /// Whether more is lost than random loss explains.
    pub fn excessive(&self) -> bool {
        let all = self.acknowledged + self.lost;
        all >= ENOUGH && self.lost as f64 > all as f64 * MOST_BY_CHANCE
    }

    fn forget(&mut self) {
        if self.acknowledged + self.lost > MEMORY {
            self.acknowledged /= 2;
            self.lost /= 2;
        }
    }
}
