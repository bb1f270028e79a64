//! The share of packets that was lost of late.

/// Bytes after which older ones count half: about 400 packets.
const MEMORY: u64 = 512 * 1024;
/// Below this many bytes a share says nothing.
const ENOUGH: u64 = 64 * 1200;
/// No path loses a tenth by chance for long: above it, losses are congestion whatever the delay says.
const MOST_BY_CHANCE: f64 = 0.1;

/// Bytes acknowledged and lost, the older the less they count.
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

    /// Takes losses back: these bytes were only late.
    pub fn forgive(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    /// Whether more is lost than chance explains.
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
