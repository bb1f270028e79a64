import { RpcError } from "../errors.js";
import type { ByteWriter } from "./byte-writer.js";
import { Cursor } from "./cursor.js";
import { checkMetadata, type RawMetadata } from "./metadata.js";
import { encodeText } from "./text.js";
import { varintLength, writeVarint } from "./varint.js";


/**
 * What goes with a message beside its payload (docs/protocol.md §4):
 *
 *     head length (varint) | fields: key (varint) | value length (varint) | value
 *
 * A receiver passes over an unknown field with an odd key, and refuses the call for one with an even key.
 */
export interface Head {
  /** Of a request: milliseconds the caller will still wait, as the request leaves. */
  timeoutMs: number | undefined;
  /** Of a request on a call's own stream: names the codec of its messages, where it is not standard MessagePack. */
  codec: string | undefined;
  /** Of the sender's schema of the method: in the first request of a session, and in answers where it differs. */
  fingerprint: number | undefined;
  /** From the caller in a request, from the callee in its first answer. */
  metadata: RawMetadata | undefined;
  /** From the callee, with its last word. */
  trailers: RawMetadata | undefined;
  /** Of an error: no handler was entered, so that the call may safely be made again. */
  refused: boolean;
  /** Of an error: its name in the schema. */
  reason: string | undefined;
}

/** The fields of a head that are to be written. */
export type HeadFields = Partial<Head>;

const Field = {
  /** milliseconds (varint) */
  Timeout: 0x1,
  /** UTF-8 */
  Codec: 0x2,
  /** entries */
  Metadata: 0x3,
  /** 4 bytes, big-endian */
  Fingerprint: 0x5,
  /** entries */
  Trailers: 0x7,
  /** nothing */
  Refused: 0x9,
  /** UTF-8 */
  Reason: 0xb,
} as const;

/** Bytes of the name of a declared error, as sent. */
const MAX_REASON_BYTES = 256;
/** Bytes of the name of a codec. */
const MAX_CODEC_BYTES = 64;
const NOTHING = new Uint8Array(0);

/** Writes a head with the fields that are set. */
export function writeHead(out: ByteWriter, head: HeadFields): void {
  const { timeoutMs, codec, metadata, fingerprint, trailers, refused, reason } = head;
  const start = out.position;
  if (timeoutMs !== undefined) {
    out.byte(Field.Timeout);
    out.byte(varintLength(timeoutMs));
    out.varint(timeoutMs);
  }
  if (codec !== undefined) writeField(out, Field.Codec, encodeText(codec, MAX_CODEC_BYTES));
  if (metadata !== undefined) writeField(out, Field.Metadata, metadata);
  if (fingerprint !== undefined) writeField(out, Field.Fingerprint, uint32(fingerprint));
  if (trailers !== undefined) writeField(out, Field.Trailers, trailers);
  if (refused === true) writeField(out, Field.Refused, NOTHING);
  if (reason !== undefined) writeField(out, Field.Reason, encodeText(reason, MAX_REASON_BYTES));
  // The length goes before what it counts.
  const { position } = out;
  out.varint(position - start);
  const moved = out.position - position + start;
  out.buffer.copyWithin(moved, start, position);
  writeVarint(out.buffer, start, position - start);
}

function writeField(out: ByteWriter, key: number, value: Uint8Array): void {
  out.byte(key);
  out.varint(value.length);
  out.bytes(value);
}

/**
 * Reads a head and leaves the cursor at the payload, even when it throws `RpcError`: `unimplemented` for a field it may
 * not ignore, `invalid_argument` or `resource_exhausted` for metadata.
 */
export function readHead(cursor: Cursor, maxMetadataBytes: number): Head {
  const head: Head = {
    timeoutMs: undefined,
    codec: undefined,
    fingerprint: undefined,
    metadata: undefined,
    trailers: undefined,
    refused: false,
    reason: undefined,
  };
  const fields = cursor.nested();
  while (fields.position < fields.end) {
    const key = fields.varint();
    const value = fields.nested();
    const { bytes, position, end } = value;
    if (key === Field.Timeout) head.timeoutMs = value.varint();
    else if (key === Field.Metadata) head.metadata = checkMetadata(bytes, position, end, maxMetadataBytes);
    else if (key === Field.Trailers) head.trailers = checkMetadata(bytes, position, end, maxMetadataBytes);
    else if (key === Field.Codec) head.codec = value.text();
    else if (key === Field.Fingerprint) head.fingerprint = readUint32(value);
    else if (key === Field.Refused) head.refused = true;
    else if (key === Field.Reason) head.reason = value.text();
    else if (key % 2 === 0) throw new RpcError("unimplemented", `head field ${key} is not understood here`);
  }
  return head;
}

function uint32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

function readUint32(cursor: Cursor): number {
  const at = cursor.take(4);
  const { bytes } = cursor;
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0);
}
