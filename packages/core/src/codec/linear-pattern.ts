// The pattern that zod makes of a template literal goes back as often as there are ways to share a text among its parts: for three
// texts of any length with something between, that is the square of their length and more.
import { Positions } from "./positions.js";
import { stepsOf } from "./pattern-steps.js";

/** Ways that the platform's matcher is left to try: it takes no longer for them than steps do. */
const MAX_WAYS = 4000;
/** A long text, and so many ways for each of its characters that ways grow no faster than texts. */
const LONG = 2 ** 20;
const FEW = 16;
const made = new WeakSet<RegExp>();

/**
 * `regex`, whose `test` takes time that grows with the length of a text and no faster. It says the same as before. A pattern is left as it is that
 * has flags, is frozen, has one part of any length at most, or has what `stepsOf` has no steps of.
 */
export function linear(regex: RegExp): RegExp {
  const { source, flags } = regex;
  const steps = flags === "" && !made.has(regex) && Object.isExtensible(regex) ? stepsOf(source) : undefined;
  if (steps === undefined || steps.ways(LONG) <= FEW * LONG) return regex;
  made.add(regex);
  const isAnchored = source.startsWith("^") && !source.includes("|");
  let quick = LONG;
  while (quick >= 1 && steps.ways(quick) > MAX_WAYS) quick /= 2;
  return Object.defineProperty(regex, "test", {
    value: (given: unknown): boolean => {
      const text = String(given);
      if (text.length <= quick) return RegExp.prototype.test.call(regex, text);
      return !steps.ends(text, Positions.between(0, isAnchored ? 0 : text.length)).isEmpty;
    },
  });
}
