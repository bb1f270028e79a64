import { fnv1a } from "../../contract/service-id.js";
import { appendBytes, type SessionCodec } from "../../contract/codec.js";
import { Packr } from "msgpackr";
import { MAX_DEPTH } from "../../fixed-limits.js";
import { bigIntOf } from "../../msgpack/big-int.js";
import { copyBytes, readExtensionLength } from "../../msgpack/read-scalars.js";
import { keyCrowd, setOf } from "../../msgpack/key-crowd.js";
import { placesWith } from "../../msgpack/places.js";
import { misfit } from "../../msgpack/misfit.js";
import {
  BYTES_VALUES,
  count,
  isArray,
  isMap,
  readArrayHeader,
  type Reader,
  readTableHeader,
  readWhole,
} from "../../msgpack/reader.js";
import { readScalar } from "../../msgpack/read-value.js";
import { isName, safeNumber, nestingError } from "../../msgpack/value.js";

/**
 * Extension types of msgpackr that contain plain values. Types for references, functions and classes are not supported.
 */
const Extension = { BigInt: 0x42, Record: 0x72, Set: 0x73, TypedArray: 0x74 } as const;
/** First byte of a record that refers to structure 0, if its structure is already known. */
const RECORDS_START = 0x40;
const RECORDS_END = 0x80;
/** First byte of a record whose structure id takes a second byte. Used only if both sides share structures. */
const LONG_IDS_START = 0x60;
const ID_BITS = 0x3f;
/** MessagePack's one-byte extension, which msgpackr writes before the array of a Set. */
const FIXED_EXTENSION_1 = 0xd4;
const FIXED_EXTENSION_2 = 0xd5;

/** Typed array classes, at the index by which msgpackr identifies them. */
const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;
/** Numbers by which msgpackr identifies `ArrayBuffer` and `DataView`. */
const ARRAY_BUFFER = 16;
const DATA_VIEW = 17;

/** Keys of each record structure, by the structure's id in the message. */
type Structures = (readonly string[] | undefined)[];

/**
 * Returns a function that decodes MessagePack with msgpackr's record extension. Maps become Maps, records become
 * objects, and 64-bit integers become numbers if they are safe integers. References to earlier values are refused.
 *
 * @param structures keys of the records that both sides know
 */
function recordsReader(
  structures: readonly (readonly string[])[],
): (bytes: Uint8Array, start: number, end: number) => unknown {
  return (bytes, start, end) => {
    const reading = new RecordsReading(structures);
    return readWhole(bytes, start, end, (r, p) => reading.value(r, p, MAX_DEPTH));
  };
}

/** Decoder of a single message. The record structures that the message defines are not kept for the next one. */
class RecordsReading {
  readonly #structures: Structures;
  readonly #hasLongIds: boolean;

  constructor(structures: readonly (readonly string[])[]) {
    this.#structures = [...structures];
    this.#hasLongIds = structures.length > 0;
  }

  /**
   * Decodes the value at position `p`.
   *
   * @param depth number of nesting levels that are still allowed
   */
  value(r: Reader, p: number, depth: number): unknown {
    const byte = p < r.end ? (r.bytes[p] as number) : misfit();
    if (byte >= RECORDS_START && byte < RECORDS_END) return this.#known(r, p, byte, depth);
    if (isMap(byte)) return this.#map(r, p, depth - 1);
    if (isArray(byte)) return this.#array(r, p, depth - 1);
    if (byte === 0xcf || byte === 0xd3) return safeNumber(readScalar(r, p, byte) as bigint);
    const type = r.bytes[p + 1];
    if (byte === FIXED_EXTENSION_1 && type === Extension.Set)
      return setOf(this.#array(r, p + 3, depth - 1)) ?? misfit();
    if (type === Extension.Record && (byte === FIXED_EXTENSION_1 || byte === FIXED_EXTENSION_2)) {
      return this.#defined(r, p, byte, depth);
    }
    return isExtension(byte) ? readExtension(r, p, byte) : readScalar(r, p, byte);
  }

  /**
   * Decodes a record with a known structure. If no such structure exists, the byte is a small integer, as other
   * encoders write it.
   */
  #known(r: Reader, p: number, byte: number, depth: number): unknown {
    const keys = this.#structures[byte & ID_BITS];
    if (keys === undefined) return readScalar(r, p, byte);
    if (!this.#hasLongIds || byte < LONG_IDS_START) return this.#record(r, p + 1, keys, depth - 1);
    const id = (byte & ID_BITS) + ((r.bytes[p + 1] ?? misfit()) << 5);
    return this.#record(r, p + 2, this.#structures[id] ?? misfit(), depth - 1);
  }

  /** Decodes a record that defines a new structure, and stores the structure for later records of the message. */
  #defined(r: Reader, p: number, byte: number, depth: number): unknown {
    const isLong = byte === FIXED_EXTENSION_2;
    const id = ((r.bytes[p + 2] ?? misfit()) & ID_BITS) + (isLong ? (r.bytes[p + 3] ?? misfit()) << 5 : 0);
    const keys = this.#array(r, p + (isLong ? 4 : 3), 1).map((key) => (isName(key) ? String(key) : misfit()));
    this.#structures[id] = keys;
    return this.#record(r, r.position, keys, depth - 1);
  }

  #record(r: Reader, p: number, keys: readonly string[], depth: number): Record<string, unknown> {
    if (depth < 0) throw nestingError();
    count(keys.length * 2 + 1);
    const object: Record<string, unknown> = {};
    let places = 0;
    r.position = p;
    for (const key of keys) {
      places = placesWith(key, places);
      const value = this.value(r, r.position, depth);
      if (key !== "__proto__") object[key] = value;
    }
    return object;
  }

  #array(r: Reader, p: number, depth: number): unknown[] {
    if (depth < 0) throw nestingError();
    const array: unknown[] = [];
    for (let remaining = readArrayHeader(r, p); remaining > 0; remaining--)
      array.push(this.value(r, r.position, depth));
    return array;
  }

  #map(r: Reader, p: number, depth: number): Map<unknown, unknown> {
    if (depth < 0) throw nestingError();
    const map = new Map<unknown, unknown>();
    let left = readTableHeader(r, p);
    const keyCheck = keyCrowd(map, left);
    for (; left > 0; left--) {
      const key = this.value(r, r.position, depth);
      map.set(key, this.value(r, r.position, depth));
      if (keyCheck?.admits(key) === false) misfit();
    }
    return map;
  }
}

function isExtension(byte: number): boolean {
  return (byte >= 0xc7 && byte <= 0xc9) || (byte >= 0xd4 && byte <= 0xd8);
}

function readExtension(r: Reader, p: number, byte: number): unknown {
  const length = readExtensionLength(r, p, byte);
  const type = r.bytes[r.position];
  if (type !== Extension.BigInt && type !== Extension.TypedArray) return readScalar(r, p, byte);
  const start = r.position + 1;
  const stop = start + length;
  if (stop > r.end) misfit();
  r.position = stop;
  count(BYTES_VALUES);
  // Copied, because a typed array needs an aligned buffer.
  const data = copyBytes(r.bytes, type === Extension.BigInt ? start : start + 1, stop);
  return type === Extension.BigInt ? bigIntOf(data) : typedArray(r.bytes[start], data.buffer);
}

function typedArray(number: number = misfit(), buffer: ArrayBuffer): unknown {
  if (number === ARRAY_BUFFER) return buffer;
  if (number === DATA_VIEW) return new DataView(buffer);
  const Class = TYPED_ARRAYS[number];
  return Class === undefined ? misfit() : new Class(buffer);
}

/**
 * Returns a codec for MessagePack with msgpackr's record extension: a message contains the keys of equal objects only
 * once, or not at all if they are listed in `structures`. Maps and Sets keep their types.
 *
 * @param structures lists of object keys, in the order of the objects' properties. The codec's name contains a hash of
 * these lists. If two sides have different lists, calls fail with `unimplemented`
 */
export function msgpackRecords(structures: readonly (readonly string[])[] = []): SessionCodec {
  const packr = new Packr({
    // Passed by `getStructures`, because a message could redefine structures passed as `structures`.
    getStructures: () => structures.map((keys) => [...keys]),
    maxSharedStructures: structures.length,
    mapsAsObjects: false,
    moreTypes: true,
    int64AsType: "auto",
    copyBuffers: true,
  } as object);
  const hash = fnv1a(JSON.stringify(structures)).toString(16);
  return {
    name: structures.length === 0 ? "msgpack-records" : `msgpack-records-${hash}`,
    encode: (value, out) => appendBytes(out, packr.pack(value)),
    // msgpackr's own decoder is not used: it follows references, and compiles functions for keys that the peer chooses.
    decode: recordsReader(structures),
  };
}
