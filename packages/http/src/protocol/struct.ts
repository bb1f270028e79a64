import { count, placesWith } from "@quicrpc/core/codec";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** Number of values that a protobuf field counts toward the decode limit, because a view of its bytes is created. */
const FIELD_VALUES = 8;
/** Maximum nesting depth, the same as for all messages. */
const MAX_DEPTH = 100;

const WIRE_VARINT = 0;
const WIRE_DOUBLE = 1;
const WIRE_BYTES = 2;
const WIRE_FLOAT = 5;

// Field numbers of `google.protobuf.Value`.
const NULL = 1;
const NUMBER = 2;
const STRING = 3;
const BOOL = 4;
const STRUCT = 5;
const LIST = 6;

/** Encodes an object as the protobuf message `google.protobuf.Struct`. Throws `RangeError` if it is nested too deeply. */
export function writeStruct(object: JsonObject): Uint8Array {
  return Uint8Array.from(structBytes(object, 0));
}

function structBytes(object: JsonObject, depth: number): number[] {
  const bytes: number[] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    append(bytes, field(1, [...field(1, utf8(key)), ...field(2, valueBytes(value, depth + 1))]));
  }
  return bytes;
}

function valueBytes(value: Json, depth: number): number[] {
  if (depth > MAX_DEPTH) throw new RangeError(`values are nested more than ${MAX_DEPTH} deep`);
  if (typeof value === "string") return field(STRING, utf8(value));
  if (typeof value === "boolean") return [tag(BOOL, WIRE_VARINT), value ? 1 : 0];
  if (typeof value === "number") return [tag(NUMBER, WIRE_DOUBLE), ...double(value)];
  if (value === null || typeof value !== "object") return [tag(NULL, WIRE_VARINT), 0];
  if (!Array.isArray(value)) return field(STRUCT, structBytes(value as JsonObject, depth));
  const items: number[] = [];
  for (const item of value as readonly Json[]) append(items, field(1, valueBytes(item, depth + 1)));
  return field(LIST, items);
}

function field(number: number, bytes: Iterable<number> & { readonly length: number }): number[] {
  return append([tag(number, WIRE_BYTES), ...varint(bytes.length)], bytes);
}

/** Appends values in a loop, because the number of spread arguments is limited. */
function append(bytes: number[], more: Iterable<number>): number[] {
  for (const byte of more) bytes.push(byte);
  return bytes;
}

function tag(number: number, wire: number): number {
  return (number << 3) | wire;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return bytes;
}

function double(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Decodes the protobuf message `google.protobuf.Struct`. Returns undefined if the bytes are malformed. */
export function readStruct(bytes: Uint8Array): JsonObject | undefined {
  try {
    return structOf(bytes, 0);
  } catch {
    return undefined;
  }
}

function structOf(bytes: Uint8Array, depth: number): JsonObject {
  const entries: [string, Json][] = [];
  let places = 0;
  for (const { number, value } of fields(bytes)) {
    if (number !== 1) continue;
    let key = "";
    let read: Json = null;
    for (const part of fields(asBytes(value))) {
      if (part.number === 1) key = text(asBytes(part.value));
      if (part.number === 2) read = valueOf(asBytes(part.value), depth + 1);
    }
    places = placesWith(key, places);
    entries.push([key, read]);
  }
  return Object.fromEntries(entries);
}

function valueOf(bytes: Uint8Array, depth: number): Json {
  if (depth > MAX_DEPTH) throw new RangeError(`values are nested more than ${MAX_DEPTH} deep`);
  let read: Json = null;
  for (const { number, value } of fields(bytes)) {
    if (number === NULL) read = null;
    else if (number === NUMBER) read = view(asBytes(value)).getFloat64(0, true);
    else if (number === STRING) read = text(asBytes(value));
    else if (number === BOOL) read = value !== 0;
    else if (number === STRUCT) read = structOf(asBytes(value), depth);
    else if (number === LIST) {
      read = fields(asBytes(value))
        .filter((item) => item.number === 1)
        .map((item) => valueOf(asBytes(item.value), depth + 1));
    }
  }
  return read;
}

/** A field of a protobuf message. Its value is an integer, or the bytes of any other type. */
interface Field {
  readonly number: number;
  readonly value: number | Uint8Array;
}

function fields(bytes: Uint8Array): Field[] {
  const found: Field[] = [];
  let at = 0;
  const integer = (): number => {
    for (let value = 0, shift = 1, length = 1; length <= 10; length++, shift *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("an integer is cut off");
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("an integer has more than 64 bits");
  };
  const piece = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new RangeError("a field is cut off");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    count(FIELD_VALUES);
    const key = integer();
    const number = Math.floor(key / 8);
    const wire = key % 8;
    if (wire === WIRE_VARINT) found.push({ number, value: integer() });
    else if (wire === WIRE_DOUBLE) found.push({ number, value: piece(8) });
    else if (wire === WIRE_BYTES) found.push({ number, value: piece(integer()) });
    else if (wire === WIRE_FLOAT) found.push({ number, value: piece(4) });
    else throw new RangeError(`the wire type ${wire} is not known`);
  }
  return found;
}

function asBytes(value: Field["value"]): Uint8Array {
  if (typeof value === "number") throw new RangeError("a field has another type");
  return value;
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
