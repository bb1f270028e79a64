/** Pseudorandom numbers, the same in every run. */
let state = 12_345;
function random(below: number): number {
  state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
  return state % below;
}

function pick<T>(values: readonly T[]): T {
  return values[random(values.length)] as T;
}

function word(least: number, most: number): string {
  let text = "";
  for (let left = least + random(most - least + 1); left > 0; left--) text += String.fromCharCode(97 + random(26));
  return text;
}

const CITIES = ["London", "Paris", "New York", "São Paulo", "Zürich", "Oslo"];
const TAGS = Array.from({ length: 40 }, () => word(3, 9));

export type Values = {
  readonly [Name in "pair" | "user" | "points" | "text" | "event" | "ranges"]: () => Record<string, unknown>;
};

export const makers: Values = {
  pair: () => ({ a: random(100_000) - 1000, b: random(200) }),
  user: () => ({
    id: random(5_000_000),
    name: `${word(3, 9)} ${word(4, 12)}`,
    email: `${word(3, 9)}.${word(4, 12)}@${word(4, 8)}.com`,
    age: random(150),
    active: random(2) === 0,
    role: pick(["admin", "editor", "viewer"]),
    tags: Array.from({ length: random(9) }, () => pick(TAGS)),
    address: {
      street: `${random(999)} ${word(4, 12)} Street`,
      city: pick(CITIES),
      zip: String(10_000 + random(80_000)),
      ...(random(2) === 0 ? { country: pick(["GB", "FR", "Japan"]) } : {}),
    },
    createdAt: 1.7e12 + random(1e9),
  }),
  points: () => ({
    points: Array.from({ length: 100 }, (_, i) => ({
      x: random(1e6) / 1e4 - 50,
      y: random(1e6) / 1e3,
      label: `p${i}${word(1, 5)}`,
    })),
  }),
  text: () => {
    let body = "";
    while (body.length < 7500)
      body += `${random(10) === 0 ? pick(["日本語", "naïve café", "мир", "😀"]) : word(2, 10)} `;
    return { title: `${word(5, 10)} ${word(5, 20)}`, body };
  },
  event: () => ({
    id: random(2) === 0 ? word(8, 16) : random(1e6),
    at: 1.7e12 + random(1e9),
    source:
      random(2) === 0
        ? { host: `${word(3, 9)}.example.com`, port: random(65_536) }
        : { file: `${word(3, 9)}.ts`, ...(random(2) === 0 ? { line: random(400) } : {}) },
    tags: Array.from({ length: random(9) }, () => pick([pick(TAGS), random(1000), true, null])),
    level: pick(["info", "warning"]),
    elapsed: random(1e6) / 1e3,
  }),
  ranges: () => ({
    ranges: Array.from({ length: 100 }, (_, i) => {
      const from = random(1e6) / 1e4;
      return { from, to: from + random(1e6) / 1e3, label: `p${i}${word(1, 5)}` };
    }),
  }),
};
