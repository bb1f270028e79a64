import { RpcError } from "../errors.js";
import { isBinaryKey, keyProblem, Metadata, type MetadataValue } from "../metadata.js";
import { ByteWriter, encodeText } from "./writer.js";
import { Cursor } from "./cursor.js";

/** Encoded metadata entries that were validated; they are decoded on first use. */
export type RawMetadata = Uint8Array;

const scratch = new ByteWriter();

/**
 * Encodes metadata (docs/protocol.md §4) as entries:
 *
 *     key length (varint) | key (ASCII) | value length (varint) | value
 *
 * Returns undefined if there is none. Throws `RpcError` `resource_exhausted` if the result has more than `maxBytes`
 * bytes.
 */
export function encodeMetadata(metadata: Metadata | undefined, maxBytes: number): RawMetadata | undefined {
  if (metadata === undefined || metadata.size === 0) return undefined;
  scratch.position = 0;
  for (const [key, value] of metadata) {
    append(encodeText(key), maxBytes);
    append(typeof value === "string" ? encodeText(value) : value, maxBytes);
  }
  return scratch.written().slice();
}

/**
 * Validates the entries in `fields` and returns a copy of their bytes. Throws `ProtocolError` if they end too early,
 * `RpcError` if an entry is invalid or they have more than `maxBytes` bytes.
 */
export function checkMetadata(fields: Cursor, maxBytes: number): RawMetadata {
  requireSize(fields.end - fields.position, maxBytes);
  const entries = fields.rest();
  while (fields.position < fields.end) {
    const problem = keyProblem(fields.nested().text());
    if (problem !== undefined) throw new RpcError("invalid_argument", problem);
    fields.nested();
  }
  return entries;
}

export function decodeMetadata(raw: RawMetadata | undefined): Metadata {
  return raw === undefined ? new Metadata() : Metadata.reading(() => entriesOf(raw));
}

function* entriesOf(raw: RawMetadata): Generator<[key: string, value: MetadataValue]> {
  const cursor = new Cursor(raw, 0, raw.length);
  while (cursor.position < raw.length) {
    const key = cursor.nested().text();
    const value = cursor.nested();
    yield [key, isBinaryKey(key) ? value.rest() : value.text()];
  }
}

function append(bytes: Uint8Array, maxBytes: number): void {
  scratch.varint(bytes.length);
  requireSize(scratch.position + bytes.length, maxBytes);
  scratch.bytes(bytes);
}

function requireSize(size: number, maxBytes: number): void {
  if (size <= maxBytes) return;
  throw new RpcError(
    "resource_exhausted",
    `the metadata has ${size} bytes or more, and limits.maxMetadataBytes is ${maxBytes}`,
  );
}
