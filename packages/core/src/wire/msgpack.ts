import { Packr } from "msgpackr";
import { MAX_DEPTH } from "../limits.js";
import { requireShallow } from "./msgpack-depth.js";

/** Standard MessagePack: maps with string keys, no extension of msgpackr's own; undefined properties are left out. */
const options: object = {
  useRecords: false,
  variableMapSize: true,
  mapsAsObjects: true,
  // A number where it is a safe integer, else a bigint; msgpackr's types do not list it.
  int64AsType: "auto",
  copyBuffers: true,
  skipValues: [undefined],
};
const packr = new Packr(options);

const range = { start: 0, end: 0 };

/** `value` as MessagePack, in a buffer that is not used again. */
export function pack(value: unknown): Uint8Array {
  return packr.pack(value);
}

/** The one value that fills `bytes[start, end)`. Throws on anything else. Binary values are copies. */
export function unpack(bytes: Uint8Array, start: number, end: number): unknown {
  // msgpackr reads an end of 0 as "to the end of the buffer".
  if (start >= end) throw new Error("no MessagePack value");
  // Its depth is at most its length.
  if (end - start > MAX_DEPTH) requireShallow(bytes, start, end, MAX_DEPTH);
  range.start = start;
  range.end = end;
  return packr.unpack(bytes, range);
}

/** MessagePack with msgpackr's record extension. */
export interface RecordsFormat {
  pack(value: unknown): Uint8Array;
  unpack(bytes: Uint8Array, start: number, end: number): unknown;
}

/** @param structures keys of records that both sides know; others are written with their records */
export function recordsFormat(structures: readonly (readonly string[])[]): RecordsFormat {
  const recordsPackr = new Packr({
    // Not as `structures`: only what was loaded is safe from a message that defines another in its place.
    getStructures: () => structures.map((keys) => [...keys]),
    maxSharedStructures: structures.length,
    mapsAsObjects: false,
    moreTypes: true,
    int64AsType: "auto",
    copyBuffers: true,
  } as object);
  return {
    pack: (value) => recordsPackr.pack(value),
    unpack(bytes, start, end) {
      if (start >= end) throw new Error("no MessagePack value");
      return recordsPackr.unpack(bytes, { start, end });
    },
  };
}
