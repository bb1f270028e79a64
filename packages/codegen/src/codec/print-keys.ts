import { hex, offset } from "./literals.js";

/**
 * Returns expressions that compare the bytes at `p` with `expected`, four bytes at a time if there are that many; the
 * last four may overlap with the ones before. Adds the runtime functions that they call to `used`.
 */
export function comparisons(
  expected: readonly number[],
  operator: "===" | "!==",
  used: Set<"bytes" | "view">,
): string[] {
  const { length } = expected;
  const byte = (at: number): string => {
    used.add("bytes");
    return `bytes[${offset("p", at)}] ${operator} ${hex(expected[at] ?? 0)}`;
  };
  const word = (at: number): string => {
    used.add("view");
    const text = expected.slice(at, at + 4).map((each) => each.toString(16).padStart(2, "0"));
    const literal = `0x${text.join("")}`;
    return `view.getInt32(${offset("p", at)}) ${operator} ${Number(literal) > 0x7fffffff ? `(${literal} | 0)` : literal}`;
  };
  const half = (at: number): string => {
    used.add("view");
    const value = ((expected[at] ?? 0) << 8) | (expected[at + 1] ?? 0);
    return `view.getUint16(${offset("p", at)}) ${operator} 0x${value.toString(16).padStart(4, "0")}`;
  };
  if (length === 1) return [byte(0)];
  if (length === 2) return [half(0)];
  if (length === 3) return [half(0), byte(2)];
  const parts: string[] = [];
  let at = 0;
  for (; at + 4 <= length; at += 4) parts.push(word(at));
  if (at + 1 === length) parts.push(byte(at));
  else if (at < length) parts.push(word(length - 4));
  return parts;
}
