import { allowance, count } from "../msgpack/reader.js";
import { WireMap } from "../msgpack/value.js";
import { add, type Mode, run, type Shape, type ShapePayload } from "./shape.js";

/** The remembered result of running a recursive shape on a value. */
interface Outcome {
  readonly shape: Shape;
  readonly mode: Mode;
  readonly result: ShapePayload;
  /** The outcome for the same value with another shape or mode. */
  readonly next: Outcome | undefined;
}

/** Number of values that a remembered result counts toward the limit of the message. */
const OUTCOME_VALUES = 8;
/** Number of values that the result of a small value counts toward the limit of the message. It is not remembered. */
const SMALL_VALUES = 2;
/** Maximum number of items or properties of a small value. */
const FEW = 8;

/** Remembered results of recursive shapes, by value; undefined if there are none. */
let outcomes: Map<object, Outcome> | undefined;
let isRemembering = false;
let counted = 0;

/**
 * Runs `parse`, which parses the same value several times, as unions and intersections do, and meanwhile remembers the
 * results of recursive shapes. Otherwise a value nested in n such unions would be parsed 2^n times. Remembered results
 * count toward the decode limit of the message.
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

/** Runs `shape` on `payload.value`, or reuses the remembered result of an earlier run. */
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
  counted += values;
}

/**
 * Returns true if remembering the result costs more than parsing `value` again: it has at most `FEW` items or
 * properties, and none of them is an object.
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
