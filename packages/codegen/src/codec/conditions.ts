import { present } from "./compiled.js";
import { expression } from "./literals.js";
import type { CheckNode, CodecNode } from "./node.js";

/** Names a constant for a pattern. */
export type PatternName = (regex: RegExp, format: string) => string;

/** Conditions on the value `name` under which it is a misfit, beside what its reader and writer see to. */
export function misfitConditions(node: CodecNode, name: string, patternName: PatternName): string[] {
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
      return node.checks.flatMap((check) => checkCondition(check, node.kind, name, patternName));
    case "literal":
      return [node.values.map((value) => `${name} !== ${expression(value)}`).join(" && ")];
    case "template":
      return [`!${patternName(node.regex, "template")}.test(${name})`];
    case "nullable": {
      const inner = misfitConditions(present(node.inner), name, patternName);
      if (inner.length === 0) return [];
      const text = inner.join(" || ");
      return [`${name} !== null && ${inner.length > 1 ? `(${text})` : text}`];
    }
    case "frozen":
      return misfitConditions(present(node.inner), name, patternName);
    default:
      return [];
  }
}

/** The conditions as one expression. */
export function anyOf(conditions: readonly string[]): string {
  if (conditions.length === 1) return conditions[0] ?? "";
  return conditions.map((each) => (each.includes(" && ") ? `(${each})` : each)).join(" || ");
}

/** The bounds on the size of a container. */
export function sizeConditions(checks: readonly CheckNode[], size: string): string[] {
  return checks.flatMap((check) => {
    if (check.kind === "minSize") return [`${size} < ${check.size}`];
    if (check.kind === "maxSize") return [`${size} > ${check.size}`];
    return check.kind === "exactSize" ? [`${size} !== ${check.size}`] : [];
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
    // Readers and writers of integers see to it.
    case "integer":
      return [];
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
  }
}

function comparable(kind: string, name: string): string {
  return kind === "date" ? `${name}.getTime()` : name;
}

function bound(value: number | bigint | Date): string {
  return value instanceof Date ? String(value.getTime()) : expression(value);
}
