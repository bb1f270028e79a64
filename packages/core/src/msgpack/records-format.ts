import { Packr } from "msgpackr";
import { recordsReader } from "./records.js";

/** MessagePack with msgpackr's record extension. */
export interface RecordsFormat {
  pack(value: unknown): Uint8Array;
  unpack(bytes: Uint8Array, start: number, end: number): unknown;
}

/**
 * Makes the format.
 *
 * @param structures keys of records that both sides know; others are written with their records
 */
export function recordsFormat(structures: readonly (readonly string[])[]): RecordsFormat {
  const recordsPackr = new Packr({
    // Not as `structures`: only loaded structures cannot be redefined by a message.
    getStructures: () => structures.map((keys) => [...keys]),
    maxSharedStructures: structures.length,
    mapsAsObjects: false,
    moreTypes: true,
    int64AsType: "auto",
    copyBuffers: true,
  } as object);
  return {
    pack: (value) => recordsPackr.pack(value),
    // Not by msgpackr, which follows references and compiles functions of keys that a peer chose.
    unpack: recordsReader(structures),
  };
}
