import { longestText } from "@quicrpc/core/generated";
import { guard } from "../print/syntax.js";
import { isCompiled, present } from "./compiled.js";
import { expression } from "./literals.js";
import type { CheckNode, SchemaNode } from "../schema/node.js";

/** The statement that leaves the value to its shape. */
export const MISFIT: string = "return wire.misfit();";

/** Names a constant for a pattern. */
export type PatternName = (regex: RegExp, format: string) => string;

/** Conditions that must all hold. */
type Condition = readonly string[];

/** Statements that leave the value `name` to its shape where it is a misfit, by checks that its reader and writer do not make themselves. */
export function refuseMisfit(node: SchemaNode, name: string, patternName: PatternName): string[] {
  return refuse(misfitConditions(node, name, patternName));
}

/** Statements that leave a container to its shape where its size is out of bounds. */
export function refuseSize(checks: readonly CheckNode[], size: string): string[] {
  return refuse(sizeConditions(checks, size));
}

/** The same where it has more than it may, before any of it is read: parts that differ may become one. */
export function refuseExcess(checks: readonly CheckNode[], size: string): string[] {
  const caps = checks.flatMap((check) => (check.kind === "maxSize" || check.kind === "exactSize" ? [check.size] : []));
  return caps.length === 0 ? [] : refuse([[`${size} > ${Math.min(...caps)}`]]);
}

/** A statement that leaves the value to its shape where any of `conditions` holds; none where there are none. */
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
      return node.checks.flatMap((check) =>
        checkCondition(check, node.kind, name, patternName).map((each): Condition => [each]),
      );
    case "literal":
      // Its shape does what is not compiled.
      if (!isCompiled(node)) return [];
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

/** The bounds on the size of a container. */
function sizeConditions(checks: readonly CheckNode[], size: string): Condition[] {
  return checks.flatMap((check): Condition[] => {
    if (check.kind === "minSize") return [[`${size} < ${check.size}`]];
    if (check.kind === "maxSize") return [[`${size} > ${check.size}`]];
    return check.kind === "exactSize" ? [[`${size} !== ${check.size}`]] : [];
  });
}

function checkCondition(check: CheckNode, kind: string, name: string, patternName: PatternName): string[] {
  switch (check.kind) {
    case "minSize":
      if (check.size <= 0) return [];
      return check.size === 1 ? [`${name}.length === 0`] : [`wire.shorterThan(${name}, ${check.size})`];
    case "maxSize":
      return [`wire.longerThan(${name}, ${check.size})`];
    case "exactSize":
      return [`wire.shorterThan(${name}, ${check.size})`, `wire.longerThan(${name}, ${check.size})`];
    case "atLeast":
      return [`${comparable(kind, name)} < ${bound(check.bound)}`];
    case "atMost":
      return [`${comparable(kind, name)} > ${bound(check.bound)}`];
    case "moreThan":
      return [`${comparable(kind, name)} <= ${bound(check.bound)}`];
    case "lessThan":
      return [`${comparable(kind, name)} >= ${bound(check.bound)}`];
    // Readers and writers of integers see to the rest.
    case "integer":
      return check.least === undefined ? [] : [`${name} < ${check.least}`, `${name} > ${check.most}`];
    case "multipleOf":
      return [`!wire.isMultiple(${name}, ${expression(check.step)})`];
    case "pattern":
      return [`!${patternName(check.regex, check.format)}.test(${name})`];
    case "includes": {
      const position = check.position === undefined ? "" : `, ${check.position}`;
      return [`!${name}.includes(${expression(check.part)}${position})`];
    }
    case "startsWith":
      return [`!${name}.startsWith(${expression(check.part)})`];
    case "endsWith":
      return [`!${name}.endsWith(${expression(check.part)})`];
    default:
      return [];
  }
}

function comparable(kind: string, name: string): string {
  return kind === "date" ? `${name}.getTime()` : name;
}

function bound(value: number | bigint | Date): string {
  return value instanceof Date ? String(value.getTime()) : expression(value);
}
