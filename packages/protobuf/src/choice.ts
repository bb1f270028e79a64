import { isPlainObject, isMisfit } from "@quicrpc/core/internal";
import { misfit } from "@quicrpc/core/codec";
import { requireObject, type WriteMessage } from "./writer.js";

/** Functions that write a value, with its tag, as one of the options of a union. */
type Options = readonly WriteMessage[];

/** Options chosen so far, by union and value; undefined for a value that matches no option. */
type Chosen = Map<Options, Map<unknown, WriteMessage | undefined>>;

/** State while the outermost union is being written. */
interface Search {
  /** True while objects with undeclared keys are refused. */
  isExact: boolean;
  /**
   * Options chosen for nested unions while `isExact` is true. A nested union is searched once, although each option
   * around it writes it again.
   */
  readonly exact: Chosen;
  readonly loose: Chosen;
}

let search: Search | undefined;

/**
 * Writes a value of a union, as the first option that has its type and declares all of its keys, including those of
 * nested objects. If there is none, the first option that has its type is used. Checks such as `z.email()` are not run.
 */
export function writeOption(b: Uint8Array, p: number, value: unknown, depth: number, options: Options): number {
  if (search !== undefined) return choose(search, b, p, value, depth, options);
  search = { isExact: false, exact: new Map(), loose: new Map() };
  try {
    return choose(search, b, p, value, depth, options);
  } finally {
    search = undefined;
  }
}

function choose(state: Search, b: Uint8Array, p: number, value: unknown, depth: number, options: Options): number {
  const { isExact } = state;
  try {
    for (const exact of isExact ? [true] : [true, false]) {
      state.isExact = exact;
      const known = chosenFor(exact ? state.exact : state.loose, options);
      if (known.has(value)) {
        const option = known.get(value);
        if (option !== undefined) return option(b, p, value, depth);
        continue;
      }
      const isKept = typeof value === "object" && value !== null;
      for (const option of options) {
        const end = attempt(option, b, p, value, depth);
        if (end === undefined) continue;
        if (isKept) known.set(value, option);
        return end;
      }
      if (isKept) known.set(value, undefined);
    }
    return misfit();
  } finally {
    state.isExact = isExact;
  }
}

function chosenFor(chosen: Chosen, options: Options): Map<unknown, WriteMessage | undefined> {
  let known = chosen.get(options);
  if (known === undefined) chosen.set(options, (known = new Map()));
  return known;
}

/** Writes `value` with `write` and returns the position after it; undefined if the value does not match. */
function attempt(write: WriteMessage, b: Uint8Array, p: number, value: unknown, depth: number): number | undefined {
  try {
    return write(b, p, value, depth);
  } catch (error) {
    if (!isMisfit(error)) throw error;
    return undefined;
  }
}

/**
 * Throws the mismatch error if `value` is not an object. If a union is being written, also throws for undeclared keys
 * while the exactly matching option is searched, or if the object is strict.
 *
 * @param isStrict true if the object's schema refuses undeclared keys
 */
export function requireFields(value: unknown, keys: ReadonlySet<string>, isStrict: boolean): void {
  requireObject(value);
  if (search === undefined || !(isStrict || search.isExact)) return;
  if (search.isExact && !isPlainObject(value)) misfit();
  for (const [key, each] of Object.entries(value)) if (!keys.has(key) && each !== undefined) misfit();
}
