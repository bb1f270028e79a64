import { allowance, count } from "../msgpack/reader.js";
import { WireMap } from "../msgpack/value.js";
import { add, type Mode, run, type Shape, type ShapePayload } from "./shape.js";

/** Result of running a recursive shape on a value. */
interface Outcome {
  readonly shape: Shape;
  readonly mode: Mode;
  readonly result: ShapePayload;
  /** The outcome of another shape for the same value, or of another mode. */
  readonly next: Outcome | undefined;
}

/** Values that an outcome counts as, while it is remembered. */
const OUTCOME_VALUES = 8;
/** Most parts of a small value. */
const FEW = 8;

/** Results by value that a recursive shape was run on; undefined while nothing is worth remembering. */
let outcomes: Map<object, Outcome> | undefined;
let isRemembering = false;
let counted = 0;

/**
 * Runs `parse`, which looks at one value several times, as unions and intersections do. Meanwhile recursive shapes remember what they made of
 * each value: otherwise a value inside n such shapes would be looked at 2^n times. What they remember counts as values of a message do.
 */
export function remembering<T>(parse: () => T): T {
  if (isRemembering) return parse();
  isRemembering = true;
  try {
    return parse();
  } finally {
    isRemembering = false;
    outcomes = undefined;
    // Who was stopped stays so.
    if (allowance.values >= 0) allowance.values += counted;
    counted = 0;
  }
}

/** As `shape.run`, but only once for each value while it is remembered. */
export function runOnce(shape: Shape, payload: ShapePayload, mode: Mode): ShapePayload {
  const { value } = payload;
  if (!isRemembering || typeof value !== "object" || value === null || isSmall(value)) return shape.run(payload, mode);
  outcomes ??= new Map();
  let known = outcomes.get(value);
  while (known !== undefined && (known.shape !== shape || known.mode !== mode)) known = known.next;
  if (known === undefined) {
    count(OUTCOME_VALUES);
    counted += OUTCOME_VALUES;
    const result = run(shape, value, mode);
    known = { shape, mode, result, next: outcomes.get(value) };
    outcomes.set(value, known);
  }
  const { result } = known;
  payload.value = result.value;
  if (result.aborted !== undefined) payload.aborted = result.aborted;
  // Copies: whoever takes them says where they are.
  for (const issue of result.issues) add(payload, { ...issue, path: [...issue.path] });
  return payload;
}

/** Whether `value` is small: an outcome of it would take more than to run a shape on it again. It has at most `FEW` parts, and no objects among them. */
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
