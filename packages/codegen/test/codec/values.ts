import fc from "fast-check";

/** Anything at all that MessagePack can carry. */
export const anything: fc.Arbitrary<unknown> = fc.anything({
  maxDepth: 3,
  maxKeys: 4,
  withDate: true,
  withTypedArray: false,
  withNullPrototype: false,
  withSparseArray: false,
  values: [
    fc.boolean(),
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.constant(null),
    fc.constant(undefined),
    fc.constantFrom(2n ** 40n, -5n, 7n),
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom("", "a", "caught", "true", 1e300, Number.NaN, Number.POSITIVE_INFINITY, -0, 2 ** 53),
  ],
  key: fc.oneof(fc.string(), fc.constantFrom("id", "name", "kind", "x", "constructor", "toString")),
});

/** Pseudo-random numbers from 0 to `below`, the same each time. */
export function numbers(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** `value` with one thing changed somewhere inside it. */
export function nearly(value: unknown, others: readonly unknown[], random: (below: number) => number): unknown {
  const path = Array.from({ length: random(5) }, () => random(20));
  return change(value, path, others[random(others.length)], random(6));
}

function change(value: unknown, [step, ...rest]: readonly number[], other: unknown, how: number): unknown {
  if (step === undefined || typeof value !== "object" || value === null || value instanceof Date) return other;
  if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set) return other;
  if (Array.isArray(value)) {
    const copy: unknown[] = [...value];
    const at = step % (copy.length + 1);
    if (how === 0) copy.splice(at, 1);
    else if (how === 1) copy.splice(at, 0, other);
    else copy[at] = change(copy[at], rest, other, how);
    return copy;
  }
  const entries = Object.entries(value);
  const at = step % (entries.length + 1);
  const [key, each] = entries[at] ?? ["more", undefined];
  if (how === 0) return Object.fromEntries(entries.filter(([name]) => name !== key));
  if (how === 1) return { more: other, ...value };
  if (how === 2) return Object.fromEntries(entries.toReversed());
  return { ...value, [key]: change(each, rest, other, how) };
}
