import { Packr } from "msgpackr";

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
  range.start = start;
  range.end = end;
  return packr.unpack(bytes, range);
}
