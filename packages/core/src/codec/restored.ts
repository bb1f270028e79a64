// On the wire, a set is an array, a map with text keys looks like an object, and a bigint is an integer. Schemas that
// zod runs as a whole need the original values.
import { placesWithKey, plain, WireMap, withEntry } from "../msgpack/value.js";
import { type Form, partAt } from "./form.js";
import { remembering } from "./memo.js";
import { Mode, run, type Shape } from "./shape.js";

/**
 * Cache of restored values, by received value and schema. Present only while a value is being restored, because the
 * options of a union restore the same nested values repeatedly.
 */
let results: Map<object, Map<Shape, unknown>> | undefined;

/**
 * Converts a decoded MessagePack value to the value that the sender had, according to `shape`. If it does not match,
 * `plain` converts it.
 */
export function restored(shape: Shape, value: unknown): unknown {
  if (results !== undefined) return restore(shape, value);
  results = new Map();
  try {
    return remembering(() => restore(shape, value));
  } finally {
    results = undefined;
  }
}

function restore(shape: Shape | undefined, value: unknown): unknown {
  if (shape === undefined || typeof value !== "object" || value === null) return restoreOne(shape, value);
  const ofValue = results?.get(value) ?? new Map<Shape, unknown>();
  results?.set(value, ofValue);
  if (!ofValue.has(shape)) ofValue.set(shape, restoreOne(shape, value));
  return ofValue.get(shape);
}

function restoreOne(shape: Shape | undefined, value: unknown): unknown {
  const form = shape && formFor(shape, value);
  if (typeof value === "bigint") {
    return plain(value, form?.kind === "bigint" || (form?.kind === "literal" && form.values.includes(value)));
  }
  if (Array.isArray(value)) {
    const items = value.map((each, i) => restore(form && partFor(form, i, value), each));
    return form?.kind === "set" ? new Set(items) : items;
  }
  if (!(value instanceof WireMap)) return value;
  if (form?.kind === "map") {
    return new Map(value.entries.map(([key, each]) => [restore(form.key, key), restore(form.element, each)]));
  }
  let object: object = {};
  let places = 0;
  for (const [key, each] of value.entries) {
    places = placesWithKey(key, places);
    object = withEntry(object, plain(key), restore(form && partFor(form, String(key), value), each));
  }
  return object;
}

/**
 * Returns the structure that describes `value`: that of the innermost shape and, for a union, of the first option that
 * matches.
 */
function formFor(shape: Shape, value: unknown): Form<Shape> | undefined {
  const { form } = shape;
  switch (form.kind) {
    case "union":
      return optionFor(form.options, value);
    case "discriminated":
      return optionFor(
        form.options.map(([, option]) => option),
        value,
      );
    case "pipe":
      return formFor(form.from, value);
    case "external":
      return form.given && formFor(form.given, value);
    case "lazy":
      return formFor(form.inner(), value);
    default:
      return "inner" in form ? formFor(form.inner, value) : form;
  }
}

function optionFor(options: readonly Shape[], value: unknown): Form<Shape> | undefined {
  const mode = (typeof value === "bigint" ? Mode.Wire.exact : undefined) ?? Mode.Wire;
  const option = options.find((each) => run(each, value, mode).issues.length === 0);
  return option && formFor(option, value);
}

/**
 * Returns the schema of the item or property `key` of a value; undefined if there is none. `value` selects the option
 * if the sides of an intersection are unions.
 */
function partFor(form: Form<Shape>, key: string | number, value: unknown): Shape | undefined {
  if (form.kind !== "intersection") return partAt(form, key);
  const sides = [form.left, form.right].map((side) => formFor(side, value));
  return sides.map((side) => side && partFor(side, key, value)).find((part) => part !== undefined);
}
