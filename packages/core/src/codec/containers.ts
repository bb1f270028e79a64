import { CROWDED, keyCrowd, mapOf, setOf } from "../msgpack/key-crowd.js";
import { count, tableValues } from "../msgpack/reader.js";
import { WireMap } from "../msgpack/value.js";
import { type Check, checked, exceededCap } from "./check.js";
import { add, invalidType, isFull, prefix, refuse, run, type Shape, type ShapePayload } from "./shape.js";

export function array(element: Shape, ...checks: Check[]): Shape {
  const shape: Shape = {
    form: { kind: "array", element, checks },
    run(payload, mode) {
      const { value: input } = payload;
      if (!Array.isArray(input)) return invalidType(payload, "array");
      if (exceededCap(payload, input.length, checks)) return payload;
      const result: unknown[] = Array.from({ length: input.length });
      payload.value = result;
      for (let i = 0; i < input.length; i++) {
        const parsed = run(element, input[i], mode);
        prefix(i, parsed, payload);
        if (isFull(payload)) break;
        result[i] = parsed.value;
      }
      return payload;
    },
  };
  return checked(shape, checks);
}

/**
 * Creates the run-time schema of a tuple with these `items`, followed by any number of items that match `rest`.
 * @param name name of the type in errors
 */
export function tuple(items: readonly Shape[], rest?: Shape, name: string = "tuple"): Shape {
  const required = requiredItems(items, (item) => item.optin !== undefined);
  const kept = requiredItems(items, (item) => item.optout === "optional");
  return {
    form: { kind: "tuple", items, rest },
    run(payload, mode) {
      const { value: input } = payload;
      if (!Array.isArray(input)) return invalidType(payload, name);
      const result: unknown[] = [];
      payload.value = result;
      if (rest === undefined) {
        const facts = { input, origin: "array", inclusive: true };
        if (input.length < required) {
          return refuse(payload, "too_small", `too small: expected ${required} items`, { ...facts, minimum: required });
        }
        if (input.length > items.length) {
          const maximum = items.length;
          refuse(payload, "too_big", `too big: expected ${maximum} items`, { ...facts, maximum });
        }
      }
      const parsed = items.map((item, i) => run(item, input[i], mode));
      if (rest !== undefined) {
        for (let i = items.length; i < input.length; i++) {
          const other = run(rest, input[i], mode);
          prefix(i, other, payload);
          if (isFull(payload)) break;
          result[i] = other.value;
        }
      }
      settleItems(items, parsed, input.length, kept, payload, result);
      return payload;
    },
  };
}

/** Returns the number of items up to and including the last required one. */
function requiredItems(items: readonly Shape[], omittable: (item: Shape) => boolean): number {
  return items.findLastIndex((item) => !omittable(item)) + 1;
}

function settleItems(
  items: readonly Shape[],
  parsed: readonly ShapePayload[],
  given: number,
  kept: number,
  payload: ShapePayload,
  result: unknown[],
): void {
  for (const [i, each] of parsed.entries()) {
    // The tuple ends at the first missing item, if that may be missing.
    const omittable = i >= given && i >= kept;
    if (omittable && (items[i]?.optin === "optional" || each.issues.length > 0)) {
      result.length = i;
      break;
    }
    prefix(i, each, payload);
    result[i] = each.value;
  }
  while (result.length > given && items[result.length - 1]?.optout === "optional" && result.at(-1) === undefined) {
    result.pop();
  }
}

export function map(key: Shape, element: Shape, ...checks: Check[]): Shape {
  const shape: Shape = {
    form: { kind: "map", key, element, checks },
    run(payload, mode) {
      const { value: given } = payload;
      const converted = mode.map === undefined ? given : mode.map(given);
      const input = converted instanceof WireMap ? mapOf(converted.entries) : converted;
      if (input === undefined && converted !== undefined) return crowded(payload);
      if (!(input instanceof Map)) return invalidType(payload, "map", mode);
      // `mode.map` created the map from an object, so its memory is not charged yet.
      if (converted !== given) count(tableValues(input.size));
      payload.value = input;
      if (exceededCap(payload, input.size, checks)) return payload;
      const result = new Map<unknown, unknown>();
      const crowd = keyCrowd(result, input.size);
      payload.value = result;
      for (const [name, value] of input as Map<unknown, unknown>) {
        const parsedKey = run(key, name, mode.keys ?? mode);
        const parsed = run(element, value, mode);
        place(name, parsedKey, payload, "invalid_key");
        place(name, parsed, payload, "invalid_element");
        if (isFull(payload)) break;
        result.set(parsedKey.value, parsed.value);
        if (crowd?.admits(parsedKey.value) === false) return crowded(payload);
      }
      return payload;
    },
  };
  return checked(shape, checks);
}

/**
 * Adds the issues of a map entry under its key. If the key is neither a string nor a number, it cannot be part of a
 * path, so the issues become one issue of the map.
 */
function place(key: unknown, from: ShapePayload, to: ShapePayload, code: string): void {
  if (from.issues.length === 0) return;
  if (typeof key === "string" || typeof key === "number") prefix(key, from, to);
  else refuse(to, code, `${code.replace("_", " ")}: ${from.issues[0]?.message}`, { origin: "map" });
}

export function set(element: Shape, ...checks: Check[]): Shape {
  const shape: Shape = {
    form: { kind: "set", element, checks },
    run(payload, mode) {
      const { value } = payload;
      const input = mode.isGiven !== true && Array.isArray(value) ? setOf(value) : value;
      if (input === undefined && value !== undefined) return crowded(payload);
      if (!(input instanceof Set)) return invalidType(payload, "set", mode);
      payload.value = input;
      if (exceededCap(payload, input.size, checks)) return payload;
      const result = new Set<unknown>();
      const crowd = keyCrowd(result, input.size);
      payload.value = result;
      for (const each of input as Set<unknown>) {
        const parsed = run(element, each, mode);
        // Elements of a set have no path.
        for (const issue of parsed.issues) add(payload, issue);
        if (isFull(payload)) break;
        result.add(parsed.value);
        if (crowd?.admits(parsed.value) === false) return crowded(payload);
      }
      return payload;
    },
  };
  return checked(shape, checks);
}

/** Refuses a Map or Set with too many hash collisions among its keys, in which each lookup would be slow. */
function crowded(payload: ShapePayload): ShapePayload {
  return refuse(payload, "custom", CROWDED);
}
