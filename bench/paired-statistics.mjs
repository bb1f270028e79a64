// Statistics of paired runs of two versions. Uses only Node built-ins.

/** A path is looked at again where it seems to have lost so much. */
const SUSPECT = 0.02;
/** A loss that is confirmed and larger than this is a failure. */
export const LIMIT = 0.035;
/** Share of the resampled medians that the interval leaves out, at both ends together. */
const OUTSIDE = 0.01;
const RESAMPLES = 2000;

/**
 * What the change costs of what the base costs, with an interval of 99 %. `launches` are pairs of processes, each a list of
 * [micros of base, micros of change] of slices that followed each other. A launch counts by its median: what differs from process to
 * process (addresses, when code was compiled) is no less than what differs from slice to slice, and the interval is of launches drawn again.
 */
export function ratioOf(launches, random = generator(1)) {
  const logs = launches.map((pairs) => median(pairs.map(([base, change]) => Math.log(change / base))));
  const resampled = Array.from({ length: RESAMPLES }, () => middle(drawn(logs, random))).sort((a, b) => a - b);
  const at = (share) => Math.exp(resampled[Math.min(RESAMPLES - 1, Math.floor(RESAMPLES * share))]);
  return { ratio: Math.exp(middle(logs)), low: at(OUTSIDE / 2), high: at(1 - OUTSIDE / 2) };
}

/** Whether a path is to be measured again before anything is said. */
export function isSuspect({ ratio }) {
  return ratio > 1 + SUSPECT;
}

/** Whether a suspect's loss is there in the repeat, not by chance, and over both together larger than the limit. */
export function isLoss(again, together) {
  return isSuspect(again) && again.low > 1 && together.ratio > 1 + LIMIT && together.low > 1 + LIMIT / 2;
}

/** The mean of what is left without the smallest and the largest: steadier than a median of few. */
function middle(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const kept = sorted.length > 4 ? sorted.slice(1, -1) : sorted;
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

function drawn(values, random) {
  return values.map(() => values[Math.floor(random() * values.length)]);
}

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The value in the middle, of two the higher. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
