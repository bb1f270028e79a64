import { isLess, WIDENING } from "../shape/checks.js";
import type { Checks } from "../shape/shape.js";

/** One difference between the checks of two versions. */
export interface CheckChange {
  readonly kind: "check-tightened" | "check-loosened" | "check-changed";
  readonly message: string;
}

/** How each bound reads, and whether a greater one is stricter. */
const BOUNDS: readonly (readonly [key: "min" | "max" | "above" | "below", text: string, greaterIsStricter: boolean])[] =
  [
    ["min", "the minimum", true],
    ["above", "the exclusive minimum", true],
    ["max", "the maximum", false],
    ["below", "the exclusive maximum", false],
  ];

/** Returns the demands in which `after` differs from `before`: more, less or others. */
export function compareChecks(before: Checks = {}, after: Checks = {}): CheckChange[] {
  const changes: CheckChange[] = [];
  const add = (kind: CheckChange["kind"], message: string): void => void changes.push({ kind, message });
  for (const [key, text, greaterIsStricter] of BOUNDS) {
    const [old, now] = [before[key], after[key]];
    if (old === now) continue;
    if (old === undefined) add("check-tightened", `${text} is new: ${now}`);
    else if (now === undefined) add("check-loosened", `${text} is gone: it was ${old}`);
    else {
      const isStricter = isLess(old, now) === greaterIsStricter;
      add(isStricter ? "check-tightened" : "check-loosened", `${text} was ${old} and is ${now}`);
    }
  }
  for (const [key, text] of [
    ["multipleOf", "the step"],
    ["format", "the format"],
  ] as const) {
    const [old, now] = [before[key], after[key]];
    if (old === now) continue;
    if (old === undefined) add("check-tightened", `${text} is new: ${now}`);
    else if (now === undefined) add("check-loosened", `${text} is gone: it was ${old}`);
    else add("check-changed", `${text} was ${old} and is ${now}`);
  }
  for (const option of before.format === after.format ? optionsIn(before, after) : []) {
    const [old, now] = [before.options?.[option], after.options?.[option]];
    if (old === now) continue;
    const [more, less] = WIDENING.has(option)
      ? (["check-loosened", "check-tightened"] as const)
      : (["check-tightened", "check-loosened"] as const);
    const name = `${option} of the format ${after.format}`;
    if (old === undefined) add(more, `the ${name} is new: ${now}`);
    else if (now === undefined) add(less, `the ${name} is gone: it was ${old}`);
    else add("check-changed", `the ${name} was ${old} and is ${now}`);
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
  return changes;
}

function optionsIn(before: Checks, after: Checks): string[] {
  return [...new Set([...Object.keys(before.options ?? {}), ...Object.keys(after.options ?? {})])].sort();
}
