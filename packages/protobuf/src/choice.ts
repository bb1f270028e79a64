import { isPlainObject, misfit } from "@quicrpc/core/generated";
import { isMisfit } from "@quicrpc/core/internal";
import { requireObject, type WriteMessage } from "./writer.js";

/** Functions that write a value as one of the options of a union, with its tag. */
type Options = readonly WriteMessage[];

/** Options that values were written as, by union and value; undefined for values that match none. */
type Chosen = Map<Options, Map<unknown, WriteMessage | undefined>>;

/** The state of the outermost union that is being written. */
interface Search {
  /** Whether objects must not have undeclared keys. */
  isExact: boolean;
  /** Results for unions inside it, so that each is searched once however many options are tried around it. */
  readonly exact: Chosen;
  readonly loose: Chosen;
}

let search: Search | undefined;

/**
 * Writes a value of a union: as the first option that has its type and declares all its keys, also in objects inside
 * it; otherwise as the first option that has its type. Checks such as `z.email()` are not run.
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

/** Returns the position after the value, or undefined if it does not match. */
function attempt(write: WriteMessage, b: Uint8Array, p: number, value: unknown, depth: number): number | undefined {
  try {
    return write(b, p, value, depth);
  } catch (error) {
    if (!isMisfit(error)) throw error;
    return undefined;
  }
}

/**
 * Requires an object that may be an option of a union, or inside one.
 *
 * @param isStrict whether its schema refuses undeclared keys
 */
export function requireFields(value: unknown, keys: ReadonlySet<string>, isStrict: boolean): void {
  requireObject(value);
  if (search === undefined || !(isStrict || search.isExact)) return;
  if (search.isExact && !isPlainObject(value)) misfit();
  for (const [key, each] of Object.entries(value)) if (!keys.has(key) && each !== undefined) misfit();
}
