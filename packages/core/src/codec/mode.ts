import { safeNumber } from "../msgpack/value.js";

/** Turns a value of a source into that of a program. A value that it does not know it returns as it is, for the shape to refuse. */
type Conversion = (value: unknown) => unknown;

/** Where values come from: how those of each kind that the source has in another form become those of a program. Sets are arrays. */
export interface Mode {
  /** Values are as MessagePack has them: maps are `WireMap`, and integers of 64 bits bigints. */
  readonly isWire?: boolean;
  readonly number?: Conversion;
  readonly bigint?: Conversion;
  readonly date?: Conversion;
  readonly bytes?: Conversion;
  readonly map?: Conversion;
  /** Called where a value is none of `values`. */
  readonly literal?: (value: unknown, values: readonly unknown[]) => unknown;
  /** The mode of the keys of a map, where that is another. */
  readonly keys?: Mode;
  /** The mode in which a bigint is one, to tell the options of a union apart. */
  readonly exact?: Mode;
  /** Words for a value as the source writes it, by the name of its type in a program. */
  readonly says?: Readonly<Record<string, string>>;
}

const isWire = true;

/** Integers of 64 bits as numbers where these are exact. */
const number: Conversion = (value) => (typeof value === "bigint" ? safeNumber(value) : value);

export const Mode: { readonly Given: Mode; readonly Wire: Mode } = {
  /** The program: what a sender gives. */
  Given: {},
  Wire: { isWire, number, literal: number, exact: { isWire } },
};
