//! Mutates the inputs of a corpus. `QUICRPC_FUZZ_SECONDS` sets for how long, `QUICRPC_FUZZ_SEED` the seed (`npm run
//! fuzz`); without them, a few fixed inputs are used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const FEW: u32 = 3000;
/// Maximum length of an input, so that each takes about the same time.
const MAX_LENGTH: usize = 8192;
/// Boundary values of lengths and integers.
const EDGES: [u8; 10] = [0x00, 0x01, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xff];

/// Pseudorandom numbers from a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Runs `run` on mutations of `corpus`; prints a failing input in the format of a corpus file.
pub(super) fn near(corpus: &[Vec<u8>], run: impl Fn(&[u8])) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let end = number("QUICRPC_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random(number("QUICRPC_FUZZ_SEED").unwrap_or(1).max(1));
    let mut runs = 0;
    while end.map_or(runs < FEW, |end| Instant::now() < end) {
        let input = mutant(corpus, &mut random);
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            let bytes: Vec<_> = input.iter().map(u8::to_string).collect();
            panic!("fails on {}", bytes.join(" "));
        }
        runs += 1;
    }
    println!("{runs} inputs");
}

fn mutant(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.of(corpus).clone();
    for _ in 0..=random.below(6) {
        change(&mut bytes, corpus, random);
    }
    bytes.truncate(MAX_LENGTH);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let to = bytes.len().min(at + 1 + random.below(16));
    match random.below(7) {
        0 => bytes.insert(at, *random.of(&EDGES)),
        1 => bytes.extend_from_slice(&corpus[random.below(corpus.len())]),
        2 => drop(bytes.drain(at..to)),
        3 => bytes.truncate(at),
        4 => {
            let piece = bytes[at..to].repeat(1 + random.below(40));
            bytes.splice(at..at, piece);
        }
        5 => bytes[at..to]
            .iter_mut()
            .for_each(|byte| *byte = random.below(256) as u8),
        _ => bytes[at..to]
            .iter_mut()
            .take(1)
            .for_each(|byte| *byte ^= 1 << random.below(8)),
    }
}
