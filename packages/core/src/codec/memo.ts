import { allowance, count, countSteps } from "../msgpack/reader.js";
import { WireMap } from "../msgpack/value.js";
import { add, type Mode, run, type Shape, type ShapePayload } from "./shape.js";

/** The cached result of parsing a value with a recursive schema. */
interface Outcome {
  readonly shape: Shape;
  readonly mode: Mode;
  readonly result: ShapePayload;
  /** Cached result for the same value with another schema or mode. */
  readonly next: Outcome | undefined;
}

/** Number of values that a cached result counts toward the message's decode limit. */
const OUTCOME_VALUES = 8;
/**
 * Number of values that parsing a small value again counts toward the message's decode limit. Its result is not cached.
 */
const SMALL_VALUES = 2;
/** Values of outcomes that take as long as one step of validation. */
const VALUES_OF_STEP = 6;
/** Maximum number of items or properties of a small value. */
const FEW = 8;

/** Cached results of recursive schemas, by value; undefined if there are none. */
let outcomes: Map<object, Outcome> | undefined;
let isRemembering = false;
let counted = 0;

/**
 * Runs `parse`, which may parse the same value several times, as unions and intersections do. Caches the results of
 * recursive schemas meanwhile: otherwise a value nested in n unions would be parsed 2^n times. Cached results count
 * toward the message's decode limit.
 */
export function remembering<T>(parse: () => T): T {
  if (isRemembering) return parse();
  isRemembering = true;
  try {
    return parse();
  } finally {
    isRemembering = false;
    outcomes = undefined;
    // An exhausted allowance stays exhausted.
    if (allowance.values >= 0) allowance.values += counted;
    counted = 0;
  }
}

/** Parses `payload.value` with `shape`, or returns the cached result of an earlier run. */
export function runOnce(shape: Shape, payload: ShapePayload, mode: Mode): ShapePayload {
  const { value } = payload;
  if (!isRemembering || typeof value !== "object" || value === null) return shape.run(payload, mode);
  if (isSmall(value)) {
    charge(SMALL_VALUES);
    return shape.run(payload, mode);
  }
  outcomes ??= new Map();
  let known = outcomes.get(value);
  while (known !== undefined && (known.shape !== shape || known.mode !== mode)) known = known.next;
  if (known === undefined) {
    charge(OUTCOME_VALUES);
    const result = run(shape, value, mode);
    known = { shape, mode, result, next: outcomes.get(value) };
    outcomes.set(value, known);
  }
  const { result } = known;
  payload.value = result.value;
  if (result.aborted !== undefined) payload.aborted = result.aborted;
  // The issues are copied, because the caller changes their paths.
  for (const issue of result.issues) add(payload, { ...issue, path: [...issue.path] });
  return payload;
}

function charge(values: number): void {
  count(values);
  countSteps(values / VALUES_OF_STEP);
  counted += values;
}

/**
 * Returns true if parsing `value` again costs less than caching its result: it has at most `FEW` items or properties,
 * and none of them is an object.
 */
function isSmall(value: object): boolean {
  if (Array.isArray(value)) return value.length <= FEW && !value.some(isContainer);
  if (value instanceof WireMap)
    return value.entries.length <= FEW && !value.entries.some((entry) => entry.some(isContainer));
  let parts = 0;
  for (const key in value) {
    if (++parts > FEW || isContainer((value as Readonly<Record<string, unknown>>)[key])) return false;
  }
  return true;
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
