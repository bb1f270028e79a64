/** A reproducible source of numbers: the same seed, the same numbers (mulberry32). */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Below `limit`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Longest input: what takes time with the square of its length does so visibly. */
const MAX_LENGTH = 32_768;

/** Bytes that end lengths, integers and texts, and begin the values of formats. */
const EDGES = [
  0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0x90, 0xbf, 0xc0, 0xc1, 0xc7, 0xd4, 0xd9, 0xdd, 0xdf, 0xfe, 0xff,
];

/** Returns an input near those of the corpus: one or two of them, changed in a few places. */
export function mutant(corpus: readonly Uint8Array[], random: Random): Uint8Array {
  let bytes = [...random.of(corpus)];
  for (let changes = 1 + random.below(6); changes > 0; changes--) bytes = changed(bytes, corpus, random);
  return Uint8Array.from(bytes.slice(0, MAX_LENGTH));
}

function changed(bytes: number[], corpus: readonly Uint8Array[], random: Random): number[] {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random.below(16));
  switch (random.below(9)) {
    case 0:
      return bytes.toSpliced(at, 1, random.of(EDGES));
    case 1:
      return bytes.map((byte, i) => (i === at ? byte ^ (1 << random.below(8)) : byte));
    case 2:
      return bytes.toSpliced(at, 0, random.of(EDGES));
    case 3:
      return bytes.toSpliced(at, to - at);
    case 4:
      return bytes.slice(0, at);
    case 5:
      return [...bytes.slice(0, at), ...random.of(corpus)];
    case 6:
      return bytes.toSpliced(at, 0, ...random.of(corpus));
    case 7: {
      // Repeats the same piece: deep nesting, and too many elements.
      const piece = bytes.slice(at, to);
      const times = random.below(random.below(8) === 0 ? 4000 : 40);
      return [...bytes.slice(0, at), ...Array.from({ length: times }, () => piece).flat(), ...bytes.slice(at)];
    }
    default:
      return bytes.toSpliced(at, to - at, ...Array.from({ length: to - at }, () => random.below(256)));
  }
}
