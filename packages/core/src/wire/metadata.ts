import { RpcError } from "../errors.js";
import { isBinaryKey, MAX_KEY_BYTES, Metadata, type MetadataValue, RESERVED_PREFIX } from "../metadata.js";
import { ByteWriter } from "./byte-writer.js";
import { Cursor } from "./cursor.js";
import { decodeText, encodeText } from "./text.js";

/** Checked entries as they arrived: reading them waits until somebody looks. */
export type RawMetadata = Uint8Array;

/**
 * Metadata as it is sent (docs/protocol.md §4):
 *
 *     entries: key length (varint) | key (ASCII) | value length (varint) | value
 *
 * Undefined when there is none. Throws `RpcError` `resource_exhausted` above `maxBytes`.
 */
export function encodeMetadata(metadata: Metadata | undefined, maxBytes: number): RawMetadata | undefined {
  if (metadata === undefined || metadata.size === 0) return undefined;
  const out = new ByteWriter();
  for (const [key, value] of metadata) {
    append(out, encodeText(key, MAX_KEY_BYTES));
    append(out, typeof value === "string" ? encodeText(value, Number.POSITIVE_INFINITY) : value);
    requireSize(out.position, maxBytes);
  }
  return out.written();
}

/**
 * Checks the entries in `bytes[start, end)` and copies them. Throws `ProtocolError` where they end too soon, `RpcError`
 * for what they may not be.
 */
export function checkMetadata(bytes: Uint8Array, start: number, end: number, maxBytes: number): RawMetadata {
  requireSize(end - start, maxBytes);
  const cursor = new Cursor(bytes, start, end);
  while (cursor.position < end) {
    const length = cursor.varint();
    checkKey(bytes, cursor.take(length), length);
    cursor.take(cursor.varint());
  }
  return bytes.slice(start, end);
}

/** Reads checked entries. */
export function decodeMetadata(raw: RawMetadata | undefined): Metadata {
  const metadata = new Metadata();
  if (raw === undefined) return metadata;
  const cursor = new Cursor(raw, 0, raw.length);
  while (cursor.position < raw.length) {
    const keyLength = cursor.varint();
    const keyStart = cursor.take(keyLength);
    const key = decodeText(raw, keyStart, keyStart + keyLength);
    const length = cursor.varint();
    const start = cursor.take(length);
    const value: MetadataValue = isBinaryKey(key)
      ? raw.slice(start, start + length)
      : decodeText(raw, start, start + length);
    metadata.append(key, value);
  }
  return metadata;
}

function append(out: ByteWriter, bytes: Uint8Array): void {
  out.varint(bytes.length);
  out.bytes(bytes);
}

function requireSize(size: number, maxBytes: number): void {
  if (size <= maxBytes) return;
  throw new RpcError(
    "resource_exhausted",
    `the metadata has ${size} bytes or more, and limits.maxMetadataBytes is ${maxBytes}`,
  );
}

function checkKey(bytes: Uint8Array, start: number, length: number): void {
  let ok = length > 0 && length <= MAX_KEY_BYTES;
  for (let at = start; ok && at < start + length; at++) ok = isKeyByte(bytes[at] as number);
  if (!ok) throw new RpcError("invalid_argument", "a metadata key is not made of a-z, 0-9, _, . and -");
  const reserved =
    length >= RESERVED_PREFIX.length && decodeText(bytes, start, start + RESERVED_PREFIX.length) === RESERVED_PREFIX;
  if (reserved)
    throw new RpcError("invalid_argument", `a metadata key begins with ${RESERVED_PREFIX}, which is reserved`);
}

/** a-z, 0-9, "_", "." and "-" */
function isKeyByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x5f || byte === 0x2e || byte === 0x2d
  );
}
