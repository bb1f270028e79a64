import { placesWith } from "../msgpack/places.js";
import { WireMap } from "../msgpack/value.js";
import { keepKey } from "../msgpack/write-value.js";
import { any } from "./scalars.js";
import {
  add,
  invalidType,
  isFull,
  isObject,
  MAX_ISSUES,
  type Mode,
  prefix,
  refuse,
  run,
  type Shape,
  type ShapePayload,
} from "./shape.js";

/** How undeclared keys of an object are handled: dropped ("strip"), refused ("strict"), or parsed with a schema. */
export type OtherKeys = "strip" | "strict" | Shape;

/** Creates the run-time schema of an object with these fields. */
export function object(fields: Readonly<Record<string, Shape>>, others: OtherKeys = "strip"): Shape {
  const known = Object.entries(fields);
  const names = new Set(Object.keys(fields));
  return {
    form: { kind: "object", fields, others },
    run(payload, mode) {
      const input = asObject(payload.value);
      if (!isObject(input)) return invalidType(payload, "object");
      const result: Record<string, unknown> = {};
      payload.value = result;
      for (const [key, field] of known) {
        settle(run(field, input[key], mode), payload, result, key, input, field);
        if (payload.issues.length > 0 && !(key in input)) mentionUndeclared(payload, key, input, names);
        if (mode.isSent === true && result[key] === undefined) {
          if (field.optin === undefined) keepKey(result, key);
          else delete result[key];
        }
        if (isFull(payload)) return payload;
      }
      if (others !== "strip") parseOthers(payload, input, result, names, others, mode);
      // zod accepts typed arrays and dates as objects, but on the wire they are other types.
      const isOther = ArrayBuffer.isView(input) || input instanceof Date;
      if (mode.isSent === true && isOther) payload.value = input;
      return payload;
    },
  };
}

/**
 * Mentions undeclared keys of `input` in the issue about the missing field `key`: one of them may be a misspelling of
 * it.
 */
function mentionUndeclared(payload: ShapePayload, key: string, input: object, names: ReadonlySet<string>): void {
  const given: string[] = [];
  for (const name in input) if (!names.has(name) && given.push(name) === MAX_MENTIONED) break;
  if (given.length === 0) return;
  payload.issues = payload.issues.map((issue) => {
    const isOfField = issue.code === "invalid_type" && issue.path.length === 1 && issue.path[0] === key;
    return isOfField ? { ...issue, message: `${issue.message} (undeclared: ${given.join(", ")})` } : issue;
  });
}

const MAX_MENTIONED = 3;

/** Value of `others` with which an object keeps undeclared keys unchanged. */
export const loose: Shape = /* @__PURE__ */ any();

/** Converts a map from the wire to an object; returns other values unchanged. */
export function asObject(value: unknown): unknown {
  return value instanceof WireMap ? value.toObject((each) => each) : value;
}

/**
 * Adds a parsed field to the object `result`, or its issues to `to`, depending on whether the input has the field and
 * whether it is required.
 */
function settle(
  from: ShapePayload,
  to: ShapePayload,
  result: Record<string, unknown>,
  key: string,
  input: Record<string, unknown>,
  { optin, optout }: Shape,
): void {
  const present = key in input;
  if (!present && optout === "optional" && optin !== undefined && (optin === "optional" || from.issues.length > 0)) {
    return;
  }
  prefix(key, from, to);
  if (!present && optin === undefined) {
    if (from.issues.length === 0) {
      refuse(to, "invalid_type", "required, but missing", { expected: "nonoptional", input: undefined }, [key]);
    }
    return;
  }
  if (from.value !== undefined || present || (optin === "defaulted" && optout !== "optional")) result[key] = from.value;
}

function parseOthers(
  payload: ShapePayload,
  input: Record<string, unknown>,
  result: Record<string, unknown>,
  names: ReadonlySet<string>,
  others: Exclude<OtherKeys, "strip">,
  mode: Mode,
): void {
  const unknown: string[] = [];
  let places = 0;
  // The loop includes inherited properties, as zod does.
  for (const key in input) {
    if (names.has(key)) continue;
    if (isFull(payload)) return;
    if (others === "strict") {
      unknown.push(key);
    } else if (key !== "__proto__") {
      places = placesWith(key, places);
      settle(run(others, input[key], mode), payload, result, key, input, others);
      if (mode.isSent === true) keepKey(result, key);
    }
  }
  if (unknown.length > 0) add(payload, unrecognized(unknown));
}

/**
 * Returns the issue about undeclared keys. Its message names the first of them; `keys` contains all, which
 * intersections need.
 */
export function unrecognized(keys: readonly string[]): ShapePayload["issues"][number] {
  const message = `unknown: ${keys.slice(0, MAX_ISSUES).join(", ")}`;
  return { code: "unrecognized_keys", path: [], message, continue: true, keys, facts: {} };
}
