import { longestText } from "@quicrpc/core/internal";
import { guard } from "../print/syntax.js";
import { isCompiled, present } from "./compiled.js";
import { expression } from "./literals.js";
import type { CheckNode, SchemaNode } from "../schema/node.js";

/** Generated statement that throws the mismatch error, so that the shape handles the value. */
export const MISFIT: string = "return wire.misfit();";

/** Returns the name of the constant that contains a regular expression or a set of values. */
export type PatternName = (constant: RegExp | readonly unknown[], name: string) => string;

/** Maximum number of literal values that generated code compares one after the other. */
const FEW_VALUES = 16;

/** Conditions of which all must hold, as expressions. */
type Condition = readonly string[];

/**
 * Returns statements that throw the mismatch error if the value of the variable `name` fails a check which the
 * runtime's readers and writers do not perform.
 */
export function refuseMisfit(node: SchemaNode, name: string, patternName: PatternName): string[] {
  return refuse(misfitConditions(node, name, patternName));
}

/**
 * Returns statements that throw the mismatch error if the size of a container is out of bounds. `size` is an
 * expression.
 */
export function refuseSize(checks: readonly CheckNode[], size: string): string[] {
  return refuse(sizeConditions(checks, size));
}

/**
 * Returns statements that throw the mismatch error if a container has more elements than allowed. They run before
 * elements are read, because reading may merge equal elements.
 */
export function refuseExcess(checks: readonly CheckNode[], size: string): string[] {
  const caps = checks.flatMap((check) => (check.kind === "maxSize" || check.kind === "exactSize" ? [check.size] : []));
  return caps.length === 0 ? [] : refuse([[`${size} > ${Math.min(...caps)}`]]);
}

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
      // The shape checks schemas that are not compiled.
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

function sizeConditions(checks: readonly CheckNode[], size: string): Condition[] {
  return checks.flatMap((check): Condition[] => {
    if (check.kind === "minSize") return [[`${size} < ${check.size}`]];
    if (check.kind === "maxSize") return [[`${size} > ${check.size}`]];
    return check.kind === "exactSize" ? [[`${size} !== ${check.size}`]] : [];
  });
}

/** For each check with a bound, the comparison that is true for values that fail it. */
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
  // `readInt` and `writeInt` check that the number is a safe integer.
  if (check.kind !== "integer" || check.least === undefined) return [];
  return [`${name} < ${check.least}`, `${name} > ${check.most}`];
}

function comparable(kind: string, name: string): string {
  return kind === "date" ? `${name}.getTime()` : name;
}

function bound(value: number | bigint | Date): string {
  return value instanceof Date ? String(value.getTime()) : expression(value);
}
