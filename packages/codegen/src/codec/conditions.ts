import { longestText } from "@quicrpc/core/generated";
import { guard } from "../print/syntax.js";
import { isCompiled, present } from "./compiled.js";
import { expression } from "./literals.js";
import type { CheckNode, SchemaNode } from "../schema/node.js";

/** The statement that leaves the value to its shape. */
export const MISFIT: string = "return wire.misfit();";

/** Names a constant for a pattern, or for a set of values. */
export type PatternName = (constant: RegExp | readonly unknown[], name: string) => string;

/** Most values of a literal that are compared one after the other. */
const FEW_VALUES = 16;

/** Conditions that must all hold. */
type Condition = readonly string[];

/** Returns statements that leave the value `name` to its shape if it fails checks that its reader and writer do not perform themselves. */
export function refuseMisfit(node: SchemaNode, name: string, patternName: PatternName): string[] {
  return refuse(misfitConditions(node, name, patternName));
}

/** Returns statements that leave a container to its shape if its size is out of bounds. */
export function refuseSize(checks: readonly CheckNode[], size: string): string[] {
  return refuse(sizeConditions(checks, size));
}

/** Returns statements that do so if it has too many parts, before any is read: different parts may become one. */
export function refuseExcess(checks: readonly CheckNode[], size: string): string[] {
  const caps = checks.flatMap((check) => (check.kind === "maxSize" || check.kind === "exactSize" ? [check.size] : []));
  return caps.length === 0 ? [] : refuse([[`${size} > ${Math.min(...caps)}`]]);
}

/** Returns a statement that leaves the value to its shape if any of `conditions` holds; nothing if there are none. */
function refuse(conditions: readonly Condition[]): string[] {
  const [only] = conditions;
  if (only === undefined) return [];
  if (conditions.length === 1) return [guard(only, "&&", MISFIT)];
  const tests = conditions.map((each) => (each.length === 1 ? each.join() : `(${each.join(" && ")})`));
  return [guard(tests, "||", MISFIT)];
}

function misfitConditions(node: SchemaNode, name: string, patternName: PatternName): Condition[] {
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
      return node.checks
        .flatMap((check) => checkConditions(check, node.kind, name, patternName))
        .map((each): Condition => [each]);
    case "literal":
      // Its shape handles what is not compiled.
      if (!isCompiled(node)) return [];
      if (node.values.length > FEW_VALUES) return [[`!wire.isOneOf(${name}, ${patternName(node.values, "known")})`]];
      return [node.values.map((value) => `${name} !== ${expression(value)}`)];
    case "template":
      return [
        ...(longestText(node.regex) === Infinity ? [] : [[`${name}.length > ${longestText(node.regex)}`]]),
        [`!${patternName(node.regex, "template")}.test(${name})`],
      ];
    case "nullable": {
      const inner = misfitConditions(present(node.inner), name, patternName);
      const [only] = inner;
      if (only === undefined) return [];
      const anyOf = inner.length === 1 ? only : [`(${inner.map((each) => each.join(" && ")).join(" || ")})`];
      return [[`${name} !== null`, ...anyOf]];
    }
    case "frozen":
      return misfitConditions(present(node.inner), name, patternName);
    default:
      return [];
  }
}

/** Returns the bounds on a container's size. */
function sizeConditions(checks: readonly CheckNode[], size: string): Condition[] {
  return checks.flatMap((check): Condition[] => {
    if (check.kind === "minSize") return [[`${size} < ${check.size}`]];
    if (check.kind === "maxSize") return [[`${size} > ${check.size}`]];
    return check.kind === "exactSize" ? [[`${size} !== ${check.size}`]] : [];
  });
}

/** The comparison with its bound that is true for a value that fails a check. */
const BEYOND = { atLeast: "<", atMost: ">", moreThan: "<=", lessThan: ">=" } as const;

function checkConditions(check: CheckNode, kind: string, name: string, patternName: PatternName): string[] {
  if ("bound" in check) return [`${comparable(kind, name)} ${BEYOND[check.kind]} ${bound(check.bound)}`];
  if ("part" in check) {
    const position = check.kind === "includes" && check.position !== undefined ? `, ${check.position}` : "";
    return [`!${name}.${check.kind}(${expression(check.part)}${position})`];
  }
  if ("size" in check) {
    const shorter = check.size === 1 ? `${name}.length === 0` : `wire.shorterThan(${name}, ${check.size})`;
    return [
      ...(check.kind === "maxSize" || (check.kind === "minSize" && check.size <= 0) ? [] : [shorter]),
      ...(check.kind === "minSize" ? [] : [`wire.longerThan(${name}, ${check.size})`]),
    ];
  }
  if (check.kind === "multipleOf") return [`!wire.isMultiple(${name}, ${expression(check.step)})`];
  if (check.kind === "pattern") return [`!${patternName(check.regex, check.format)}.test(${name})`];
  // Readers and writers of integers check the rest.
  if (check.kind !== "integer" || check.least === undefined) return [];
  return [`${name} < ${check.least}`, `${name} > ${check.most}`];
}

function comparable(kind: string, name: string): string {
  return kind === "date" ? `${name}.getTime()` : name;
}

function bound(value: number | bigint | Date): string {
  return value instanceof Date ? String(value.getTime()) : expression(value);
}
