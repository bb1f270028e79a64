import { MAX_DEPTH } from "../fixed-limits.js";
import { classOf, safeNumber } from "../msgpack/value.js";
import { keep } from "../msgpack/write-value.js";
import type { Form } from "./form.js";

/** Converts a value of a source to the form that a program uses. Unknown values are returned unchanged, for the shape to refuse. */
type Conversion = (value: unknown) => unknown;

/**
 * Where values come from, and how each kind of value is converted from the source's form to the program's. Sets are
 * arrays in every source.
 */
export interface Mode {
  /** True for values from MessagePack: maps are `WireMap`, and 64-bit integers are bigints. */
  readonly isWire?: boolean;
  /** True for values from the program. */
  readonly isGiven?: boolean;
  /** True if the result is what is sent: the value as it was given, without keys that the schema does not declare. */
  readonly isSent?: boolean;
  readonly number?: Conversion;
  readonly bigint?: Conversion;
  readonly date?: Conversion;
  readonly bytes?: Conversion;
  readonly map?: Conversion;
  /** Converts a value that is none of `values`. */
  readonly literal?: (value: unknown, values: readonly unknown[]) => unknown;
  /** The mode for the keys of a map, if it is a different one. */
  readonly keys?: Mode;
  /** A mode that keeps bigints, to distinguish the options of a union. */
  readonly exact?: Mode;
  /** How messages describe a value in the source's format, by the name of its type in a program. */
  readonly says?: Readonly<Record<string, string>>;
}

const isWire = true;
const isGiven = true;

/** Converts 64-bit integers to numbers if they are exact. */
const number: Conversion = (value) => (typeof value === "bigint" ? safeNumber(value) : value);

export const Mode: { readonly Given: Mode; readonly Sent: Mode; readonly Wire: Mode } = {
  /** Values from the program, which are parsed. */
  Given: { isGiven },
  /** Values from the program, which are sent. */
  Sent: { isGiven, isSent: true },
  Wire: { isWire, number, literal: number, exact: { isWire } },
};

/**
 * A schema as executable data. It parses a value as zod does, with the same result, issue codes and paths. Compiled
 * code handles valid values; a shape finds the issues of invalid ones, and replaces code for schemas that are not
 * compiled.
 */
export interface Shape {
  /** Parses `payload.value`: stores the result there, and adds issues to `payload.issues`. May return another payload. */
  run(payload: ShapePayload, mode: Mode): ShapePayload;
  /** The shape's own structure. */
  readonly form: Form<Shape>;
  /** Whether the input may be absent ("optional"), or is then replaced ("defaulted"). */
  readonly optin?: "optional" | "defaulted" | undefined;
  /** Whether the result may be absent. */
  readonly optout?: "optional" | undefined;
}

/** Most issues of a refused value. A shape stops as soon as it has found this many. */
export const MAX_ISSUES = 20;

/** A value that shapes are parsing. */
export interface ShapePayload {
  value: unknown;
  /** At most `MAX_ISSUES`. Only `add` may append to it. */
  issues: ShapeIssue[];
  /** Prevents further checks, whatever the issues say. */
  aborted?: boolean;
}

/** A problem of a value. */
export interface ShapeIssue {
  readonly code: string;
  readonly path: PropertyKey[];
  readonly message: string;
  /** Whether later checks still run. If undefined, checks that need a value of the right type do not. */
  readonly continue?: boolean | undefined;
  /** All keys refused together with this one, for `unrecognized_keys`, and for `invalid_key` of a record. */
  readonly keys?: readonly string[];
  /** "record" for a key that the record's key schema refuses. */
  readonly origin?: string;
  /** Further fields of zod's issue, for a message in the language of `z.config`. Undefined if the issue has a custom message. */
  readonly facts?: Facts | undefined;
}

/** Fields of zod's issues besides code and path, such as `expected`, `minimum` and `input`. */
export type Facts = Readonly<Record<string, unknown>>;

export function run(shape: Shape, value: unknown, mode: Mode): ShapePayload {
  return shape.run({ value, issues: [] }, mode);
}

/** Returns true if a value of the program matches. */
export function fits(shape: Shape, value: unknown): boolean {
  return run(shape, value, Mode.Given).issues.length === 0;
}

/** Finds the issues of a value with `shape`. The result is `sent()`, which is sent. */
export function parsedAndSent(shape: Shape, payload: ShapePayload, sent: () => unknown): ShapePayload {
  const result = shape.run(payload, Mode.Given);
  result.value = sent();
  return result;
}

/** Returns `value` as it was given: it is sent with undefined properties, and with those that its schema does not declare. */
export function whole(value: unknown, depth: number = MAX_DEPTH): unknown {
  if (depth === 0 || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const [key, each] of Object.entries(value)) {
    keep(value, key);
    whole(each, depth - 1);
  }
  return value;
}

/** Adds an issue. The last one that has room ends all parsing, including that of outer values. */
export function add(payload: ShapePayload, issue: ShapeIssue): void {
  const { issues } = payload;
  if (issues.length < MAX_ISSUES) issues.push(issue);
  if (issues.length >= MAX_ISSUES) payload.aborted = true;
}

/** Returns true if there is no room for more issues, so that parsing stops. */
export function isFull({ issues }: ShapePayload): boolean {
  return issues.length >= MAX_ISSUES;
}

/** Adds an issue and ends the parsing of this value. */
export function refuse(
  payload: ShapePayload,
  code: string,
  message: string,
  facts?: Facts,
  path: PropertyKey[] = [],
): ShapePayload {
  add(payload, { code, path, message, facts: facts && { input: payload.value, ...facts } });
  return payload;
}

/** Refuses a value of the wrong type, described in the terms of its source. */
export function invalidType(payload: ShapePayload, type: string, { says }: Mode = Mode.Given): ShapePayload {
  const expected = says?.[type] ?? type;
  return refuse(payload, "invalid_type", `expected ${expected}, received ${describe(payload.value)}`, {
    expected: type,
  });
}

/** Adds the issues of a part to those of the whole, with `key` before their paths. */
export function prefix(key: PropertyKey, from: ShapePayload, to: ShapePayload): void {
  for (const issue of from.issues) {
    issue.path.unshift(key);
    add(to, issue);
  }
}

export function isAborted({ aborted, issues }: ShapePayload, from = 0): boolean {
  if (aborted === true) return true;
  for (let i = from; i < issues.length; i++) if (issues[i]?.continue !== true) return true;
  return false;
}

export function isExplicitlyAborted({ aborted, issues }: ShapePayload): boolean {
  return aborted === true || issues.some((issue) => issue.continue === false);
}

/** Returns true if zod treats `value` as an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Number.isNaN(value)) return "NaN";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "object") return typeof value;
  const kind = classOf(value);
  if (kind === "Promise") return "Promise: await it first";
  return kind === "Object" ? "object" : kind;
}
