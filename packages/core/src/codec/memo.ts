import { add, type Mode, run, type Shape, type ShapePayload } from "./shape.js";

/** Result of running a recursive shape on a value. */
interface Outcome {
  readonly shape: Shape;
  readonly mode: Mode;
  readonly result: ShapePayload;
}

/** Results by value that a recursive shape was run on; undefined while nothing is worth remembering. */
let outcomes: Map<object, Outcome[]> | undefined;
let isRemembering = false;

/**
 * Runs `parse`, which looks at one value several times, as unions and intersections do. Meanwhile recursive shapes remember what they made of
 * each value: otherwise a value inside n such shapes would be looked at 2^n times.
 */
export function remembering<T>(parse: () => T): T {
  if (isRemembering) return parse();
  isRemembering = true;
  try {
    return parse();
  } finally {
    isRemembering = false;
    outcomes = undefined;
  }
}

/** As `shape.run`, but only once for each value while it is remembered. */
export function runOnce(shape: Shape, payload: ShapePayload, mode: Mode): ShapePayload {
  const { value } = payload;
  if (!isRemembering || typeof value !== "object" || value === null) return shape.run(payload, mode);
  outcomes ??= new Map();
  let ofValue = outcomes.get(value);
  if (ofValue === undefined) outcomes.set(value, (ofValue = []));
  let known = ofValue.find((each) => each.shape === shape && each.mode === mode);
  if (known === undefined) {
    known = { shape, mode, result: run(shape, value, mode) };
    ofValue.push(known);
  }
  const { result } = known;
  payload.value = result.value;
  if (result.aborted !== undefined) payload.aborted = result.aborted;
  // Copies: whoever takes them says where they are.
  for (const issue of result.issues) add(payload, { ...issue, path: [...issue.path] });
  return payload;
}
