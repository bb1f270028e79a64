import type { JsonNode } from "./json-tree.js";
import {
  choicesOf,
  isObject,
  isOfType,
  itemOf,
  keyOf,
  lengthOf,
  markOf,
  memberOf,
  membersOf,
  readIsoDate,
  resolved,
  type JsonSchema,
} from "@quicrpc/services/json-schema";

export interface SchemaMismatch {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

const MAX_MISMATCHES = 50;
const MAX_DEPTH = 100;

/** Compares a JSON text with the schema of a method's input. Returns the parts that do not match. */
export function mismatchesOf(node: JsonNode, schema: unknown, root: JsonSchema): readonly SchemaMismatch[] {
  const mismatches: SchemaMismatch[] = [];
  check(node, schema, { root, mismatches, depth: 0 });
  return mismatches;
}

interface Search {
  readonly root: JsonSchema;
  readonly mismatches: SchemaMismatch[];
  readonly depth: number;
  /** True if the schema is one of several parts of an `allOf`, each of which names only some of the members. */
  readonly isPart?: boolean;
}

function check(node: JsonNode, schema: unknown, search: Search): void {
  const resolvedSchema = resolved(schema, search.root);
  if (resolvedSchema === undefined || search.depth > MAX_DEPTH || search.mismatches.length >= MAX_MISMATCHES) return;
  const inner = { root: search.root, mismatches: search.mismatches, depth: search.depth + 1 };
  const report = (message: string, { from, to }: { from: number; to: number } = node): void =>
    void search.mismatches.push({ from, to, message });
  const { not } = resolvedSchema;
  if (isObject(not) && Object.keys(not).length === 0) return report("It takes nothing.");
  const choices = choicesOf(resolvedSchema);
  if (choices !== undefined) return checkChoices(node, choices, inner);
  const { allOf: parts } = resolvedSchema;
  if (Array.isArray(parts)) for (const part of parts) check(node, part, { ...inner, isPart: true });
  const mark = markOf(resolvedSchema);
  const values = "const" in resolvedSchema ? [resolvedSchema["const"]] : resolvedSchema["enum"];
  // Literals of bigints are text, and may be typed as numbers.
  const value = mark === "bigint" && typeof node.value === "number" ? String(node.value) : node.value;
  if (Array.isArray(values) && !(node.kind === "scalar" && values.includes(value))) {
    const all = values.map((value) => JSON.stringify(value)).join(", ");
    return report(`It is ${values.length === 1 ? "" : "one of "}${all}.`);
  }
  if (mark !== undefined && mark !== "map" && mark !== "set") {
    const problem = markProblem(mark, node.value);
    return problem === undefined ? undefined : report(problem);
  }
  const type = mark === "map" ? "object" : mark === "set" ? "array" : resolvedSchema["type"];
  if (typeof type === "string" && !isOfType(sampleOf(node), type)) return report(`It takes ${article(type)}.`);
  if (node.kind === "object") checkMembers(node, resolvedSchema, { ...inner, isPart: search.isPart === true }, report);
  else if (node.kind === "array") checkItems(node, resolvedSchema, inner, report);
  else checkScalar(node.value, resolvedSchema, report);
}

/**
 * Reports the problems of one of several alternative schemas: the one with the fewest problems or, for a discriminated
 * union, the one with the same discriminator.
 */
function checkChoices(node: JsonNode, choices: readonly unknown[], search: Search): void {
  search.mismatches.push(...bestOf(node, choices, search).mismatches);
}

/** Returns the index of the alternative schema that a value matches, or matches best. */
export function meantChoice(node: JsonNode, choices: readonly unknown[], root: JsonSchema): number {
  return bestOf(node, choices, { root, mismatches: [], depth: 0 }).index;
}

interface BestChoice {
  readonly index: number;
  readonly mismatches: readonly SchemaMismatch[];
  readonly cost: number;
}

function bestOf(node: JsonNode, choices: readonly unknown[], search: Search): BestChoice {
  let bestChoice: BestChoice = { index: 0, mismatches: [], cost: Number.POSITIVE_INFINITY };
  for (const [index, choice] of choices.entries()) {
    const mismatches: SchemaMismatch[] = [];
    check(node, choice, { ...search, mismatches });
    const isOther = mismatches.some(({ from, message }) => from === node.from || message.startsWith("It is "));
    const cost = mismatches.length + (isOther ? 1000 : 0);
    if (cost < bestChoice.cost) bestChoice = { index, mismatches, cost };
    if (cost === 0) break;
  }
  return bestChoice;
}

type ReportMismatch = (message: string, at?: { from: number; to: number }) => void;

function checkMembers(node: JsonNode, schema: JsonSchema, search: Search, report: ReportMismatch): void {
  const { names, required } = membersOf(schema);
  const present = new Set(node.properties.map(({ name }) => name));
  const missing = required.filter((name) => !present.has(name));
  if (missing.length > 0)
    report(`${missing.join(", ")} ${missing.length > 1 ? "are" : "is"} missing.`, {
      from: node.from,
      to: node.from + 1,
    });
  const { additionalProperties: otherMembers } = schema;
  const isClosed =
    search.isPart !== true &&
    (otherMembers === false || (otherMembers === undefined && markOf(schema) === undefined && names.length > 0));
  const inner = { root: search.root, mismatches: search.mismatches, depth: search.depth };
  const key = resolved(keyOf(schema), search.root);
  const before = new Set<string>();
  for (const property of node.properties) {
    const { name, value } = property;
    if (before.has(name)) report(`${JSON.stringify(name)} is there twice.`, property);
    else if (isClosed && !names.includes(name)) report(`There is no member ${JSON.stringify(name)}.`, property);
    else if (key !== undefined) checkKey(name, key, (message) => report(message, property));
    before.add(name);
    if (value !== undefined) check(value, memberOf(schema, name), inner);
  }
}

/** Checks a key of an object. Keys are strings in JSON, also if the keys of the map have another type. */
function checkKey(name: string, schema: JsonSchema, report: (message: string) => void): void {
  const { type, enum: values } = schema;
  const mark = markOf(schema);
  if (mark !== undefined) {
    const problem = markProblem(mark, name);
    if (problem !== undefined) report(problem);
  } else if (Array.isArray(values) || "const" in schema) {
    const listed: readonly unknown[] = Array.isArray(values) ? values : [schema["const"]];
    if (!listed.some((key) => String(key) === name)) report(`It is one of ${listed.map(String).join(", ")}.`);
  } else if (type === "number" || type === "integer") {
    const number = name.trim() === "" ? Number.NaN : Number(name);
    if (Number.isNaN(number) || (type === "integer" && !Number.isInteger(number))) report(`It takes ${article(type)}.`);
    else checkScalar(number, schema, report);
  } else checkScalar(name, schema, report);
}

function checkItems(node: JsonNode, schema: JsonSchema, search: Search, report: ReportMismatch): void {
  const { min, max } = lengthOf(schema);
  const count = node.items.length;
  if (count < min) report(`It takes ${min} items or more.`);
  if (count > max) report(`It takes ${max} items at most.`);
  const before = new Set<unknown>();
  for (const [index, item] of node.items.entries()) {
    if (schema["uniqueItems"] === true && item.kind === "scalar") {
      if (before.has(item.value)) report("It is there twice.", item);
      before.add(item.value);
    }
    check(item, itemOf(schema, index), search);
  }
}

function checkScalar(value: unknown, schema: JsonSchema, report: ReportMismatch): void {
  const { minLength, maxLength, pattern, format } = schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof value === "string") {
    if (typeof minLength === "number" && value.length < minLength) report(`It takes ${minLength} characters or more.`);
    if (typeof maxLength === "number" && value.length > maxLength) report(`It takes ${maxLength} characters at most.`);
    if (typeof pattern === "string" && pattern.length < 200 && !matches(pattern, value))
      report(`It does not match ${pattern}.`);
    if (format === "uri" && !URL.canParse(value)) report("It takes a URL.");
  } else if (typeof value === "number") {
    if (typeof minimum === "number" && value < minimum) report(`It takes ${minimum} or more.`);
    if (typeof maximum === "number" && value > maximum) report(`It takes ${maximum} or less.`);
    if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
      report(`It takes more than ${exclusiveMinimum}.`);
    if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
      report(`It takes less than ${exclusiveMaximum}.`);
    if (typeof multipleOf === "number" && !isMultiple(value, multipleOf))
      report(`It takes a multiple of ${multipleOf}.`);
  }
}

/** Returns true if `value` is a multiple of `divisor`, within the rounding error of binary fractions. */
function isMultiple(value: number, divisor: number): boolean {
  const times = value / divisor;
  return divisor === 0 || Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

/**
 * Returns true if a value matches a pattern, or is too long to be checked: the pattern comes from the server and could
 * take very long.
 */
function matches(pattern: string, value: string): boolean {
  if (value.length > 1000) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function markProblem(mark: string, value: unknown): string | undefined {
  switch (mark) {
    case "date":
      return typeof value === "string" && readIsoDate(value) !== undefined
        ? undefined
        : 'It takes a time, as "2026-01-31T12:00:00Z".';
    case "bigint":
      return Number.isSafeInteger(value) || (typeof value === "string" && /^-?\d+$/.test(value))
        ? undefined
        : "It takes a whole number, in quotes where it is large.";
    case "bytes":
      return typeof value === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value)
        ? undefined
        : "It takes bytes in base64: drop a file here.";
    default:
      return undefined;
  }
}

function sampleOf({ kind, value }: JsonNode): unknown {
  return kind === "scalar" ? value : kind === "array" ? [] : {};
}

function article(type: string): string {
  if (type === "null") return type;
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}
