import { countSteps } from "../msgpack/reader.js";
import { isName, WireMap } from "../msgpack/value.js";
import { asObject } from "./object.js";
import { remembering } from "./memo.js";
import { invalidKey, isPlainObject } from "./record.js";
import {
  add,
  fits,
  invalidType,
  isAborted,
  isObject,
  type Mode,
  parsedAndSent,
  refuse,
  run,
  type Shape,
  type ShapeIssue,
  type ShapePayload,
  whole,
} from "./shape.js";

/** Creates the run-time schema of a union. The first of `options` that matches a value parses it. */
export function union(...options: Shape[]): Shape {
  const optin = options.map((option) => option.optin);
  return {
    form: { kind: "union", options },
    optin: optin.includes("defaulted") ? "defaulted" : optin.find((each) => each !== undefined),
    optout: options.find((option) => option.optout !== undefined)?.optout,
    run(payload, mode) {
      const [only] = options;
      if (only !== undefined && options.length === 1) return only.run(payload, mode);
      if (typeof payload.value !== "object") return choose(options, payload, mode);
      return remembering(() => choose(options, payload, mode));
    },
  };
}

function choose(options: readonly Shape[], payload: ShapePayload, mode: Mode): ShapePayload {
  if (mode.exact !== undefined && typeof payload.value === "bigint") {
    // A bigint is kept if an option accepts it; otherwise it is converted to a number.
    const exact = firstFit(options, payload, mode.exact);
    if (!Array.isArray(exact)) return exact;
  }
  const results = firstFit(options, payload, mode);
  if (!Array.isArray(results)) return results;
  const unfinished = results.filter((each) => !isAborted(each));
  // If only one option has the right type and fails a check, that check's message helps more than "no option matches".
  if (unfinished.length === 1 && unfinished[0] !== undefined) {
    payload.value = unfinished[0].value;
    return unfinished[0];
  }
  return refuse(payload, "invalid_union", "fits none of the options", {});
}

function firstFit(options: readonly Shape[], { value }: ShapePayload, mode: Mode): ShapePayload | ShapePayload[] {
  const results: ShapePayload[] = [];
  const refused: Shape[] = [];
  for (const option of options) {
    countSteps(1 / 16);
    if (isOther(option, value, mode)) continue;
    const result = run(option, value, mode);
    if (result.issues.length === 0) {
      // The whole value is sent if an earlier option would match the result, so that the receiver chooses the same
      // option.
      if (mode.isSent === true && refused.some((each) => fits(each, result.value))) result.value = whole(value);
      return result;
    }
    countSteps(result.issues.length / 4);
    results.push(result);
    refused.push(option);
  }
  return results;
}

/**
 * Returns true if the value obviously does not match `option`, by its type or by a literal, so that running the option
 * would find nothing else.
 */
function isOther({ form }: Shape, value: unknown, mode: Mode): boolean {
  if (typeof value !== "object" || value === null) return false;
  switch (form.kind) {
    case "array":
    case "tuple":
      return !Array.isArray(value);
    case "object":
      return Array.isArray(value) || hasOtherText(form.fields, value);
    case "record":
      return Array.isArray(value);
    case "string":
    case "boolean":
    case "null":
    case "undefined":
      return true;
    case "number":
    case "bigint":
    case "literal":
      // In sources other than MessagePack, these types may be represented as objects.
      return mode[form.kind] === undefined || mode.isWire === true;
    default:
      return false;
  }
}

/** Returns true if a property of `value` is a text, and its field is a literal with other texts. */
function hasOtherText(fields: Fields, value: object): boolean {
  return textsOf(fields).some(([key, texts]) => {
    const given = propertyOf(value, key);
    return typeof given === "string" && !texts.includes(given);
  });
}

type Fields = Readonly<Record<string, Shape>>;
type Texts = readonly (readonly [key: string, texts: readonly unknown[]])[];

const knownTexts = new WeakMap<Fields, Texts>();

/** Returns the fields that are literals, all of whose values are texts. */
function textsOf(fields: Fields): Texts {
  let texts = knownTexts.get(fields);
  if (texts === undefined) {
    texts = Object.entries(fields).flatMap(([key, { form }]) =>
      form.kind === "literal" && form.values.every((each) => typeof each === "string") ? [[key, form.values]] : [],
    );
    knownTexts.set(fields, texts);
  }
  return texts;
}

/** Steps of validation for each entry of a map that is compared with a key. */
const ENTRY_STEPS = 1 / 32;

function propertyOf(value: object, key: string): unknown {
  if (!(value instanceof WireMap)) return (value as Readonly<Record<string, unknown>>)[key];
  countSteps(value.entries.length * ENTRY_STEPS);
  return value.entries.findLast(([name]) => isName(name) && String(name) === key)?.[1];
}

/** Creates the run-time schema of a union in which the value of the property `key` selects the option. */
export function discriminated(key: string, options: readonly (readonly [value: unknown, option: Shape])[]): Shape {
  const byValue = new Map(options);
  return {
    form: { kind: "discriminated", key, options },
    run(payload, mode) {
      const input = asObject(payload.value);
      if (!isObject(input)) return invalidType(payload, "object");
      const option = byValue.get(input[key]);
      if (option === undefined) {
        const facts = { discriminator: key, options: [...byValue.keys()] };
        return refuse(payload, "invalid_union", `no option has this ${key}`, facts, [key]);
      }
      payload.value = input;
      return option.run(payload, mode);
    },
  };
}

/** Creates a run-time schema for values that must match both `left` and `right`, and merges the two results. */
export function intersection(left: Shape, right: Shape): Shape {
  return {
    form: { kind: "intersection", left, right },
    run(payload, mode) {
      const { value } = payload;
      if (mode.isSent === true) {
        return parsedAndSent(this, payload, () => {
          const sent = merge(run(left, value, mode).value, run(right, value, mode).value);
          return sent === UNMERGEABLE ? whole(value) : sent;
        });
      }
      const [a, b] = remembering(() => [run(left, value, mode), run(right, value, mode)]);
      const first = keyIssues(a, payload);
      const second = keyIssues(b, payload);
      // A key is unrecognized only if both sides refuse it.
      const refused = [...first.keys()].filter((key) => second.has(key));
      const listed = [...first.values(), ...second.values()].find(({ code }) => code === "unrecognized_keys");
      const listedKeys = new Set(listed?.keys);
      const together = refused.filter((key) => listedKeys.has(key));
      const shared = new Set(together);
      if (listed !== undefined && together.length > 0) add(payload, { ...listed, keys: together });
      for (const key of refused) {
        const isInvalid = [first.get(key), second.get(key)].some((issue) => issue?.origin === "record");
        if (!shared.has(key) && isInvalid) add(payload, invalidKey(key));
      }
      const merged = merge(a.value, b.value);
      if (merged !== UNMERGEABLE) payload.value = merged;
      else if (!isAborted(payload)) refuse(payload, "invalid_intersection", "the two sides give different results");
      return payload;
    },
  };
}

/** Returns the issues of `from` that refuse a key, by key, and adds all other issues to `to`. */
function keyIssues(from: ShapePayload, to: ShapePayload): Map<string, ShapeIssue> {
  const byKey = new Map<string, ShapeIssue>();
  let listed: readonly string[] | undefined;
  for (const issue of from.issues) {
    const { code, path, keys = [], origin } = issue;
    const isOfKeys =
      code === "unrecognized_keys"
        ? path.length === 0
        : code === "invalid_key" && origin === "record" && path.length === 1;
    if (!isOfKeys) add(to, issue);
    else if (keys !== listed) for (const key of (listed = keys)) byKey.set(key, issue);
  }
  return byKey;
}

const UNMERGEABLE: unique symbol = Symbol("unmergeable");

function merge(a: unknown, b: unknown): unknown {
  if (a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())) return a;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return UNMERGEABLE;
    const merged = a.map((each, i) => merge(each, b[i]));
    return merged.includes(UNMERGEABLE) ? UNMERGEABLE : merged;
  }
  if (!isPlainObject(a) || !isPlainObject(b)) return UNMERGEABLE;
  const merged: Record<string, unknown> = { ...a, ...b };
  for (const key of Object.keys(a)) {
    if (!Object.hasOwn(b, key)) continue;
    const both = merge(a[key], b[key]);
    if (both === UNMERGEABLE) return UNMERGEABLE;
    merged[key] = both;
  }
  return merged;
}
