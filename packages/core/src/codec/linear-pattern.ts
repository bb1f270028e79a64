// The pattern that zod makes of a template literal goes back as often as there are ways to share a text among its parts: for three
// texts of any length with something between, that is the square of their length and more.
import { stepsOf } from "./pattern-steps.js";

/** Ways that are left to the platform's matcher. */
const MAX_WAYS = 1e5;
/** Positions that are looked at for each character of a text, and beside them: more make it one that does not match. */
const MAX_LOOKS = 64;
const MORE_LOOKS = 5e6;
const made = new WeakSet<RegExp>();

/**
 * `regex`, whose `test` takes time that grows with the length of a text and no faster. It says the same as before. A pattern with flags, or
 * with something that this cannot read (a reference to a group, something to look behind for), is left as it is.
 */
export function linear(regex: RegExp): RegExp {
  const { source, flags } = regex;
  const steps = flags === "" && !made.has(regex) ? stepsOf(source) : undefined;
  if (steps === undefined) return regex;
  made.add(regex);
  const isAnchored = source.startsWith("^") && !source.includes("|");
  const ways = (length: number): number => steps.ways(length) * source.length * (isAnchored ? 1 : length);
  let quick = 2 ** 30;
  while (quick >= 1 && !(ways(quick) <= MAX_WAYS * source.length)) quick /= 2;
  return Object.defineProperty(regex, "test", {
    value: (given: unknown): boolean => {
      const text = String(given);
      if (text.length <= quick) return RegExp.prototype.test.call(regex, text);
      const search = { text, left: MAX_LOOKS * text.length + MORE_LOOKS };
      return steps.ends(search, [[0, isAnchored ? 0 : text.length]]).length > 0 && search.left >= 0;
    },
  });
}
