import { safeNumber } from "../msgpack/value.js";

/** Converts a value of a source to the form that a program uses. Unknown values are returned unchanged, for the shape to refuse. */
type Conversion = (value: unknown) => unknown;

/**
 * Where values come from, and how each kind of value is converted from the source's form to the program's. Sets are
 * arrays in every source.
 */
export interface Mode {
  /** True for values from MessagePack: maps are `WireMap`, and 64-bit integers are bigints. */
  readonly isWire?: boolean;
  readonly number?: Conversion;
  readonly bigint?: Conversion;
  readonly date?: Conversion;
  readonly bytes?: Conversion;
  readonly map?: Conversion;
  /** Converts a value that is none of `values`. */
  readonly literal?: (value: unknown, values: readonly unknown[]) => unknown;
  /** The mode for the keys of a map, if it is a different one. */
  readonly keys?: Mode;
  /** A mode that keeps bigints, to distinguish the options of a union. */
  readonly exact?: Mode;
  /** How messages describe a value in the source's format, by the name of its type in a program. */
  readonly says?: Readonly<Record<string, string>>;
}

const isWire = true;

/** Converts 64-bit integers to numbers if they are exact. */
const number: Conversion = (value) => (typeof value === "bigint" ? safeNumber(value) : value);

export const Mode: { readonly Given: Mode; readonly Wire: Mode } = {
  /** Values from the program: a sender's input. */
  Given: {},
  Wire: { isWire, number, literal: number, exact: { isWire } },
};
