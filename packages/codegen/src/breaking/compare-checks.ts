import { CHANGING, demandsIn, optionOfKey, WIDENING } from "../shape/checks.js";
import type { Checks } from "../shape/shape.js";
import { impliesBound, impliesFormat, impliesStep } from "./implied.js";

export interface CheckChange {
  readonly kind: "check-tightened" | "check-loosened" | "check-changed";
  readonly message: string;
}

type Value = number | string | undefined;

const BOUNDS = [
  ["min", "the minimum"],
  ["above", "the exclusive minimum"],
  ["max", "the maximum"],
  ["below", "the exclusive maximum"],
] as const;

/**
 * Words with which change messages describe checks that may occur several times, and functions that return true if
 * other checks imply one.
 */
const JOINED = [
  ["multipleOf", "the step", impliesStep],
  ["format", "the format", impliesFormat],
] as const;

const OTHERS = "a conversion, an exclusive union, a loose record or the check of a property";

/**
 * Returns the checks that are stricter, weaker or different in `after` than in `before`. Ignores checks that other
 * checks imply.
 */
export function compareChecks(before: Checks = {}, after: Checks = {}): CheckChange[] {
  const changes: CheckChange[] = [];
  const add = (kind: CheckChange["kind"], message: string): void => void changes.push({ kind, message });
  const changed = (text: string, old: Value, now: Value, isMore: boolean, isLess: boolean): void => {
    if (!isMore && !isLess) return;
    const kind = isMore && isLess ? "check-changed" : isMore ? "check-tightened" : "check-loosened";
    if (old === undefined) add(kind, `${text} is new: ${now}`);
    else if (now === undefined) add(kind, `${text} is gone: it was ${old}`);
    else add(kind, `${text} was ${old} and is ${now}`);
  };
  for (const [key, text] of BOUNDS) {
    const [old, now] = [before[key], after[key]];
    const isMore = now !== undefined && !impliesBound(before, key, now);
    const isLess = old !== undefined && !impliesBound(after, key, old);
    changed(text, old, now, isMore, isLess);
  }
  for (const [key, text, implies] of JOINED) {
    const [old, now] = [before[key], after[key]];
    const isMore = demandsIn(now).some((each) => !implies(before, each));
    const isLess = demandsIn(old).some((each) => !implies(after, each));
    changed(text, old, now, isMore, isLess);
  }
  for (const key of optionsIn(before, after)) {
    const [format, name] = optionOfKey(key);
    const [old, now] = [before.options?.[key], after.options?.[key]];
    // If only one version has the format, the format itself was already reported.
    const isOfBoth = [before, after].every((checks) => demandsIn(checks.format).includes(format));
    if (!isOfBoth || old === now) continue;
    const isWider = WIDENING.has(name);
    // Without `precision`, a time may omit seconds, so it has a different format.
    const isOther = CHANGING.has(name) || (name === "precision" && [old, now].some((each) => String(each) === "-1"));
    const isMore = isOther || (isWider ? old !== undefined : now !== undefined);
    const isLess = isOther || (isWider ? now !== undefined : old !== undefined);
    changed(`the ${name} of the format ${format}`, old, now, isMore, isLess);
  }
  const [oldPatterns, patterns] = [before.patterns ?? [], after.patterns ?? []];
  for (const pattern of patterns)
    if (!oldPatterns.includes(pattern)) add("check-tightened", `a new pattern: ${pattern}`);
  for (const pattern of oldPatterns)
    if (!patterns.includes(pattern)) add("check-loosened", `a pattern is gone: ${pattern}`);
  const [oldCustom, custom] = [before.custom ?? 0, after.custom ?? 0];
  if (custom > oldCustom) add("check-tightened", "there is another check by a function");
  if (custom < oldCustom) add("check-loosened", "a check by a function is gone");
  if (before.lenient === true && after.lenient !== true)
    add("check-tightened", "values that do not fit are no longer replaced");
  if (before.lenient !== true && after.lenient === true) add("check-loosened", "values that do not fit are replaced");
  const [oldOthers, others] = [before.others ?? [], after.others ?? []];
  if (others.some((each) => !oldOthers.includes(each)))
    add("check-tightened", `${OTHERS} may refuse other values than before`);
  if (oldOthers.some((each) => !others.includes(each)))
    add("check-loosened", `${OTHERS} may accept other values than before`);
  if (before.changed === undefined && after.changed === undefined) return changes;
  const [old, now] = [before.changed, after.changed];
  if (old !== undefined && now !== undefined && old.by !== now.by)
    add("check-changed", `the value is changed by ${now.by ?? "a function"}, no longer by ${old.by ?? "a function"}`);
  for (const { kind, message } of compareChecks(old, now)) add(kind, `after the value was changed: ${message}`);
  return changes;
}

function optionsIn(before: Checks, after: Checks): string[] {
  return [...new Set([...Object.keys(before.options ?? {}), ...Object.keys(after.options ?? {})])].sort();
}
