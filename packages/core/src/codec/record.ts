import { placesWith } from "../msgpack/places.js";
import { keepKey } from "../msgpack/write-value.js";
import type { RecordKeys } from "./form.js";
import { asObject, unrecognized } from "./object.js";
import {
  add,
  invalidType,
  isFull,
  isObject,
  MAX_ISSUES,
  type Mode,
  prefix,
  run,
  type Shape,
  type ShapeIssue,
  type ShapePayload,
} from "./shape.js";

export function record(keys: RecordKeys<Shape>, element: Shape): Shape {
  const { exactly, among, fit } = keys;
  const known = exactly ?? among;
  const names = known === undefined ? undefined : new Set(known);
  return {
    form: { kind: "record", keys, element },
    run(payload, mode) {
      const input = asObject(payload.value);
      if (!isPlainObject(input)) return invalidType(payload, "record");
      const result: Record<string, unknown> = {};
      payload.value = result;
      const unknown: string[] = [];
      const invalid: string[] = [];
      const elements: ShapePayload = { value: undefined, issues: [] };
      const inOrder: ShapeIssue[] = [];
      let places = 0;
      const settle = (name: string, key: PropertyKey): void => {
        places = placesWith(name, places);
        const given = input[name];
        const parsed = run(element, given, mode);
        prefix(name, parsed, elements);
        inOrder.push(...parsed.issues);
        if (key === "__proto__") return;
        result[key as string] = parsed.value;
        if (mode.isSent === true && name in input) keepKey(result, key as string);
      };
      if (exactly !== undefined) {
        for (const name of exactly) settle(name, name);
        for (const name in input) if (names?.has(name) === false) unknown.push(name);
      } else {
        for (const name of Object.keys(input)) {
          if (isFull(elements)) break;
          if (name === "__proto__") continue;
          const key = keyOf(name, fit, mode);
          if (names?.has(name) === false) unknown.push(name);
          else if (key !== undefined) settle(name, key);
          else if (invalid.push(name) <= MAX_ISSUES) inOrder.push(invalidKey(name, invalid));
        }
      }
      // An intersection may accept keys that are refused here, but never invalid elements: if not all issues have room,
      // those of elements come first.
      const told = inOrder.length > MAX_ISSUES ? [...elements.issues, ...inOrder] : inOrder;
      for (const issue of told) add(payload, issue);
      if (unknown.length > 0) add(payload, unrecognized(unknown));
      return payload;
    },
  };
}

/**
 * Returns the key of the record that the property name `name` stands for; undefined if it does not match the key
 * schema.
 */
function keyOf(name: string, fit: Shape | undefined, mode: Mode): PropertyKey | undefined {
  if (fit === undefined) return name;
  const parsed = run(fit, name, mode);
  if (parsed.issues.length === 0) return parsed.value as PropertyKey;
  if (!/^-?\d+(?:\.\d+)?$/.test(name)) return undefined;
  const again = run(fit, Number(name), mode);
  return again.issues.length === 0 ? (again.value as PropertyKey) : undefined;
}

/**
 * Creates the issue about a key that does not match the record's key schema.
 * @param keys all keys that the record refuses
 */
export function invalidKey(name: string, keys: readonly string[] = [name]): ShapeIssue {
  return { code: "invalid_key", path: [name], message: "invalid key", origin: "record", keys, facts: {} };
}

/** Returns true if zod treats `value` as a plain object. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const { constructor } = value;
  if (typeof constructor !== "function") return true;
  const prototype: unknown = constructor.prototype;
  return isObject(prototype) && Object.hasOwn(prototype, "isPrototypeOf");
}
