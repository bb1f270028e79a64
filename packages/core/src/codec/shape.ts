import type { Form } from "./form.js";
import { Mode } from "./mode.js";

export { Mode };

/**
 * A schema as data that can be run: it does to a value what zod does, with the same result, issue codes and paths. Compiled
 * code takes over where values fit; a shape finds out what is wrong where they do not, and stands in for what is not
 * compiled.
 */
export interface Shape {
  /** Parses `payload.value`: leaves the result there, and adds what is wrong to `payload.issues`. May return another payload. */
  run(payload: ShapePayload, mode: Mode): ShapePayload;
  /** The shape's own structure. */
  readonly form: Form<Shape>;
  /** Whether absence is accepted, and if so whether something takes its place. */
  readonly optin?: "optional" | "defaulted" | undefined;
  /** Whether the result may be absent. */
  readonly optout?: "optional" | undefined;
}

/** Issues that a value is refused with: a shape stops as soon as it has found so many, however many more there are. */
export const MAX_ISSUES = 20;

/** A value on its way through shapes. */
export interface ShapePayload {
  value: unknown;
  /** At most `MAX_ISSUES`: added by `add` only. */
  issues: ShapeIssue[];
  /** Stops further checks, whatever the issues say. */
  aborted?: boolean;
}

/** Something wrong with a value. */
export interface ShapeIssue {
  readonly code: string;
  readonly path: PropertyKey[];
  readonly message: string;
  /** Whether later checks run nevertheless. Undefined stops those that need a value of the right type. */
  readonly continue?: boolean | undefined;
  /** All keys that are refused where this one is, of `unrecognized_keys` and of the `invalid_key` of a record. */
  readonly keys?: readonly string[];
  /** `record` for a key that its key schema refuses. */
  readonly origin?: string;
  /** The further fields of zod's issue, for a message in the language of `z.config`. An issue whose message is somebody's own has none. */
  readonly facts?: Facts | undefined;
}

/** Fields of zod's issues beside code and path, such as `expected`, `minimum` and `input`. */
export type Facts = Readonly<Record<string, unknown>>;

export function run(shape: Shape, value: unknown, mode: Mode): ShapePayload {
  return shape.run({ value, issues: [] }, mode);
}

/** Adds an issue. The one that makes their number complete ends all parsing: what is around this value is complete as well. */
export function add(payload: ShapePayload, issue: ShapeIssue): void {
  const { issues } = payload;
  if (issues.length < MAX_ISSUES) issues.push(issue);
  if (issues.length >= MAX_ISSUES) payload.aborted = true;
}

/** Whether there are as many issues as an error names: nothing more of the value is looked at. */
export function isFull({ issues }: ShapePayload): boolean {
  return issues.length >= MAX_ISSUES;
}

/** Adds an issue that ends the parsing of this value. */
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

/** Refuses a value of another type, in the words of the source that it comes from. */
export function invalidType(payload: ShapePayload, type: string, { says }: Mode = Mode.Given): ShapePayload {
  const expected = says?.[type] ?? type;
  return refuse(payload, "invalid_type", `expected ${expected}, received ${describe(payload.value)}`, {
    expected: type,
  });
}

/** Adds the issues of a part to those of the whole. */
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

/** Whether zod takes `value` for an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Number.isNaN(value)) return "NaN";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "object") return typeof value;
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (kind === "Promise") return "Promise: await it first";
  return kind === "Object" ? "object" : kind;
}
