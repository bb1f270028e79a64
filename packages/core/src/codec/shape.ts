import { MAX_DEPTH } from "../fixed-limits.js";
import { countSteps } from "../msgpack/reader.js";
import { classOf, safeNumber } from "../msgpack/value.js";
import { keepKey } from "../msgpack/write-value.js";
import type { Form } from "./form.js";

/**
 * Converts a value from the form of its source (such as MessagePack) to the form that a program uses. Returns unknown
 * values unchanged, so that the schema refuses them.
 */
type Conversion = (value: unknown) => unknown;

/**
 * The source of values (program, MessagePack or JSON), and how each kind of value is converted from the source's form
 * to the program's. Sets are arrays in every source except the program.
 */
export interface Mode {
  /** True for values from MessagePack: maps are `WireMap`, and 64-bit integers are bigints. */
  readonly isWire?: boolean;
  /** True for values that the program passes. */
  readonly isGiven?: boolean;
  /**
   * True if the result is sent to the peer: the value that the program passed, without keys that the schema does not
   * declare.
   */
  readonly isSent?: boolean;
  readonly number?: Conversion;
  readonly bigint?: Conversion;
  readonly date?: Conversion;
  readonly bytes?: Conversion;
  readonly map?: Conversion;
  /** Converts a value that is not one of the literals `values`. */
  readonly literal?: (value: unknown, values: readonly unknown[]) => unknown;
  /** The mode for the keys of a map; undefined if they have the same mode. */
  readonly keys?: Mode;
  /** The same mode without the conversion of bigints to numbers; a union uses it to find the option for a bigint. */
  readonly exact?: Mode;
  /** Words that error messages use for the types of this source, by the name of the type in a program. */
  readonly says?: Readonly<Record<string, string>>;
}

const isWire = true;
const isGiven = true;

const number: Conversion = (value) => (typeof value === "bigint" ? safeNumber(value) : value);

export const Mode: { readonly Given: Mode; readonly Sent: Mode; readonly Wire: Mode } = {
  /** Mode for values that the program passes and that are only parsed. */
  Given: { isGiven },
  /** Mode for values that the program passes and that are sent to the peer. */
  Sent: { isGiven, isSent: true },
  Wire: { isWire, number, literal: number, exact: { isWire } },
};

/**
 * A schema at run time. It parses a value as zod does, with the same result, issue codes and paths. Generated code
 * handles valid values faster; a shape finds the issues of invalid values, and replaces generated code for schemas
 * without it.
 */
export interface Shape {
  /**
   * Parses `payload.value`, stores the result there, and adds issues to `payload.issues`. Returns `payload` or another
   * object with the result.
   */
  run(payload: ShapePayload, mode: Mode): ShapePayload;
  /** The structure of the schema: its kind, and the shapes and checks inside it. */
  readonly form: Form<Shape>;
  /**
   * "optional" if the input may be absent, "defaulted" if an absent input is replaced; undefined if the input is
   * required.
   */
  readonly optin?: "optional" | "defaulted" | undefined;
  /** "optional" if the result may be absent. */
  readonly optout?: "optional" | undefined;
}

/** Maximum issues reported for a value. A shape stops parsing as soon as it has found this many. */
export const MAX_ISSUES = 20;

/** A value that is being parsed, and the issues found so far. */
export interface ShapePayload {
  value: unknown;
  /** Issues found so far, at most `MAX_ISSUES`. Only `add` may append to them. */
  issues: ShapeIssue[];
  /** True if no further checks may run, even if every issue allows them. */
  aborted?: boolean;
}

export interface ShapeIssue {
  readonly code: string;
  readonly path: PropertyKey[];
  readonly message: string;
  /**
   * True if later checks still run after this issue, false if none does. If undefined, only checks that accept values
   * of any type run.
   */
  readonly continue?: boolean | undefined;
  /** All refused keys of the same object or record, for issues with the code `unrecognized_keys` or `invalid_key`. */
  readonly keys?: readonly string[];
  /** "record" if the key schema of a record refused the key. */
  readonly origin?: string;
  /**
   * Further fields of the corresponding zod issue, from which messages in the language of `z.config` are made.
   * Undefined if the issue has a custom message.
   */
  readonly facts?: Facts | undefined;
}

/** Fields of a zod issue other than code and path, such as `expected`, `minimum` and `input`. */
export type Facts = Readonly<Record<string, unknown>>;

/** Steps of validation that a shape is charged for each value. */
const RUN_STEPS = 1 / 8;

export function run(shape: Shape, value: unknown, mode: Mode): ShapePayload {
  countSteps(RUN_STEPS);
  return shape.run({ value, issues: [] }, mode);
}

/** Returns true if a value of the program matches the schema `shape`. */
export function fits(shape: Shape, value: unknown): boolean {
  return run(shape, value, Mode.Given).issues.length === 0;
}

/**
 * Parses `payload.value` with `shape` to find its issues. The result is `sent()`, the value to send, instead of the
 * parsed value.
 */
export function parsedAndSent(shape: Shape, payload: ShapePayload, sent: () => unknown): ShapePayload {
  const result = shape.run(payload, Mode.Given);
  result.value = sent();
  return result;
}

/**
 * Marks all undefined properties in `value` as to be sent, and returns it: it is sent exactly as the program passed it,
 * including undeclared properties.
 */
export function whole(value: unknown, depth: number = MAX_DEPTH): unknown {
  if (depth === 0 || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const [key, each] of Object.entries(value)) {
    keepKey(value, key);
    whole(each, depth - 1);
  }
  return value;
}

/**
 * Adds an issue, unless there are already `MAX_ISSUES`. At that number, parsing ends, including that of outer values.
 */
export function add(payload: ShapePayload, issue: ShapeIssue): void {
  const { issues } = payload;
  if (issues.length < MAX_ISSUES) issues.push(issue);
  if (issues.length >= MAX_ISSUES) payload.aborted = true;
}

export function isFull({ issues }: ShapePayload): boolean {
  return issues.length >= MAX_ISSUES;
}

/** Adds an issue to `payload`, after which no further checks of this value run. Returns `payload`. */
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

/** Adds an issue about a value of the wrong type, in the terms of the value's source, and returns the payload. */
export function invalidType(payload: ShapePayload, type: string, { says }: Mode = Mode.Given): ShapePayload {
  const expected = says?.[type] ?? type;
  return refuse(payload, "invalid_type", `expected ${expected}, received ${describe(payload.value)}`, {
    expected: type,
  });
}

/** Adds the issues of a nested value to those of the outer value, with `key` before their paths. */
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
