// Readers and writers of protobuf's well-known types google.protobuf.Timestamp and google.protobuf.Value.
import { misfit } from "@quicrpc/core/codec";
import { toRecord } from "./containers.js";
import {
  countFields,
  type Parts,
  push,
  readBool,
  readDouble,
  type Reader,
  readInt,
  readInt32,
  readMessage,
  readNull,
  readParts,
  readString,
  readTag,
  skipField,
  takePart,
} from "./reader.js";
import { recordEntries, writeBool, writeDouble, writeInt, writeInt32, writeMessage, writeString } from "./writer.js";

/** First and last millisecond of the years 1 to 9999, the range of a protobuf timestamp. */
const FIRST_MS = -62_135_596_800_000;
const LAST_MS = 253_402_300_799_999;
const NANOS_PER_MS = 1_000_000;

/** Reads a timestamp as a date. Ignores fractions of a millisecond. */
export function readTimestamp(r: Reader, end: number, depth: number): Date {
  countFields(4);
  let seconds: number | bigint = 0;
  let nanos = 0;
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 8) seconds = readInt(r, end);
    else if (tag === 16) nanos = readInt32(r, end);
    else skipField(r, tag, end, depth);
  }
  const ms = Number(seconds) * 1000 + Math.floor(nanos / NANOS_PER_MS);
  if (nanos < 0 || nanos >= 1000 * NANOS_PER_MS || ms < FIRST_MS || ms > LAST_MS) misfit();
  return new Date(ms);
}

export function writeTimestamp(b: Uint8Array, p: number, value: unknown): number {
  const ms = value instanceof Date ? value.getTime() : misfit();
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) misfit();
  const seconds = Math.floor(ms / 1000);
  const nanos = (ms - seconds * 1000) * NANOS_PER_MS;
  let q = p;
  if (seconds !== 0) {
    b[q] = 8;
    q = writeInt(b, q + 1, seconds);
  }
  if (nanos !== 0) {
    b[q] = 16;
    q = writeInt32(b, q + 1, nanos);
  }
  return q;
}

/** Reads a `google.protobuf.Value` as a JSON value. */
export function readAny(r: Reader, end: number, depth: number): unknown {
  let value: unknown;
  let parts: Parts;
  let last = 0;
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 8) value = readNull(r, end);
    else if (tag === 17) value = readDouble(r, end);
    else if (tag === 26) value = readString(r, end);
    else if (tag === 32) value = readBool(r, end);
    else if (tag === 42 || tag === 50) parts = takePart(r, end, last === tag ? parts : undefined);
    else {
      skipField(r, tag, end, depth);
      continue;
    }
    last = tag;
  }
  if (last === 42) return readParts(r, parts, readStruct, depth);
  if (last === 50) return readParts(r, parts, readList, depth);
  return last === 0 ? misfit() : value;
}

function readStruct(r: Reader, end: number, depth: number): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 10) {
      countFields(4);
      entries.push(readMessage(r, end, readEntry, depth));
    } else skipField(r, tag, end, depth);
  }
  return toRecord(entries);
}

function readEntry(r: Reader, end: number, depth: number): [string, unknown] {
  let key = "";
  let parts: Parts;
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 10) key = readString(r, end);
    else if (tag === 18) parts = takePart(r, end, parts);
    else skipField(r, tag, end, depth);
  }
  return [key, readParts(r, parts ?? [0, 0], readAny, depth)];
}

function readList(r: Reader, end: number, depth: number): unknown[] {
  const list: unknown[] = [];
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 10) push(list, readMessage(r, end, readAny, depth));
    else skipField(r, tag, end, depth);
  }
  return list;
}

export function writeAny(b: Uint8Array, p: number, value: unknown, depth: number): number {
  switch (typeof value) {
    case "number":
      b[p] = 17;
      return writeDouble(b, p + 1, value);
    case "string":
      b[p] = 26;
      return writeString(b, p + 1, value);
    case "boolean":
      b[p] = 32;
      return writeBool(b, p + 1, value);
    case "object":
      if (value !== null) return writeContainer(b, p, value, depth);
      b[p] = 8;
      b[p + 1] = 0;
      return p + 2;
    default:
      return misfit();
  }
}

function writeContainer(b: Uint8Array, p: number, value: object, depth: number): number {
  const isList = Array.isArray(value);
  b[p] = isList ? 50 : 42;
  return writeMessage(b, p + 1, isList ? value : recordEntries(value), isList ? writeList : writeStruct, depth);
}

function writeList(b: Uint8Array, p: number, value: unknown, depth: number): number {
  let q = p;
  for (const each of value as readonly unknown[]) {
    b[q] = 10;
    q = writeMessage(b, q + 1, each, writeAny, depth);
  }
  return q;
}

function writeStruct(b: Uint8Array, p: number, value: unknown, depth: number): number {
  let q = p;
  for (const entry of value as readonly [string, unknown][]) {
    if (entry[1] === undefined) continue;
    b[q] = 10;
    q = writeMessage(b, q + 1, entry, writeEntry, depth);
  }
  return q;
}

function writeEntry(b: Uint8Array, p: number, value: unknown, depth: number): number {
  const [key, each] = value as [string, unknown];
  b[p] = 10;
  const q = writeString(b, p + 1, key);
  b[q] = 18;
  return writeMessage(b, q + 1, each, writeAny, depth);
}
