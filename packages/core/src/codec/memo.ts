import { allowance, count } from "../msgpack/reader.js";
import { WireMap } from "../msgpack/value.js";
import { add, type Mode, run, type Shape, type ShapePayload } from "./shape.js";

/** The result of running a recursive shape on a value. */
interface Outcome {
  readonly shape: Shape;
  readonly mode: Mode;
  readonly result: ShapePayload;
  /** The outcome for the same value with another shape or mode. */
  readonly next: Outcome | undefined;
}

/** Number of values charged for a remembered outcome. */
const OUTCOME_VALUES = 8;
/** Number of values charged for the result of a small value, which is not remembered. */
const SMALL_VALUES = 2;
/** Most parts of a small value. */
const FEW = 8;

/** Outcomes of recursive shapes, by value; undefined if none is remembered. */
let outcomes: Map<object, Outcome> | undefined;
let isRemembering = false;
let counted = 0;

/**
 * Runs `parse`, which parses the same value several times, as unions and intersections do. During that, the results of
 * recursive shapes are remembered: otherwise a value inside n of them would be parsed 2^n times. Results are charged like
 * values of a message.
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

/** Like `shape.run`, but reuses a remembered result. */
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
  // Copies, because the receiver changes their paths.
  for (const issue of result.issues) add(payload, { ...issue, path: [...issue.path] });
  return payload;
}

function charge(values: number): void {
  count(values);
  counted += values;
}

/**
 * Returns true if a remembered result would cost more than running the shape on `value` again: it has at most `FEW`
 * parts, and no objects among them.
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
