import { plain, safeNumber, WireMap } from "../msgpack/value.js";

/** Turns a value of a source into that of a program. A value that it does not know it returns as it is, for the shape to refuse. */
type Conversion = (value: unknown) => unknown;

/** Where values come from: how those of each kind that the source has in another form become those of a program. */
export interface Mode {
  readonly number?: Conversion;
  readonly bigint?: Conversion;
  readonly date?: Conversion;
  readonly bytes?: Conversion;
  readonly set?: Conversion;
  readonly map?: Conversion;
  /** Called where a value is none of `values`. */
  readonly literal?: (value: unknown, values: readonly unknown[]) => unknown;
  /** For what may be anything, and what zod runs whole. `bigints`: whether that takes integers of 64 bits as bigints. */
  readonly any?: (value: unknown, bigints?: boolean) => unknown;
  /** The mode of the keys of a map, where that is another. */
  readonly keys?: Mode;
  /** The mode in which a bigint is one, to tell the options of a union apart. */
  readonly exact?: Mode;
  /** Words for a value of each kind as the source writes it, where these are not the program's. */
  readonly says?: Readonly<Record<string, string>>;
}

const wireExact: Mode = {
  set: (value) => (Array.isArray(value) ? new Set<unknown>(value) : value),
  map: (value) => (value instanceof WireMap ? new Map(value.entries) : value),
  any: plain,
};

const exactNumber: Conversion = (value) => (typeof value === "bigint" ? safeNumber(value) : value);

export const Mode: { readonly Given: Mode; readonly Wire: Mode } = {
  /** The program: what a sender gives. */
  Given: {},
  /** The wire: maps are `WireMap`, sets arrays, and integers of 64 bits bigints, which numbers take where they are exact. */
  Wire: { ...wireExact, number: exactNumber, literal: exactNumber, exact: wireExact },
};
