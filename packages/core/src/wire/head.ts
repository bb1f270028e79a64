import type { Cursor } from "./cursor.js";
import { RpcError } from "../errors.js";
import { MAX_CURSOR_LENGTH } from "../fixed-limits.js";
import { type ByteWriter, encodeText, writeVarint } from "./writer.js";
import { checkMetadata, type RawMetadata } from "./metadata.js";

/**
 * Head of a frame: fields in addition to the payload of its message (docs/protocol.md §4):
 *
 *     head length (varint) | fields: key (varint) | value length (varint) | value
 *
 * A receiver skips an unknown field with an odd key, and refuses the call for one with an even key.
 */
export interface Head {
  /** In a request: milliseconds that the caller waits from the moment it sends the frame. */
  timeoutMs: number | undefined;
  /** In a request on a call's own stream: name of the codec of the call's messages; undefined for MessagePack. */
  codec: string | undefined;
  /**
   * Fingerprint of the sender's schema of the method: in a session's first request for the method, and in answers if
   * the callee's differs.
   */
  fingerprint: number | undefined;
  /**
   * In a request for a stream: cursor of the last item that the caller has received; the handler continues after it.
   */
  from: string | undefined;
  /** In a request: state of a resumable call, which `decodeResume` reads. */
  resume: Uint8Array | undefined;
  /** Metadata of the caller in a request, and of the callee in its first answer. */
  metadata: RawMetadata | undefined;
  /** Metadata that the callee sends with its last frame. */
  trailers: RawMetadata | undefined;
  /** In an error: true if no handler has seen the call, so that it is safe to make it again. */
  refused: boolean;
  /** In an error with `refused`: true if the session accepts no more calls, but another session of the peer may. */
  leaving: boolean;
  /** In an error: name of the declared error in the schema. */
  reason: string | undefined;
}

export type HeadFields = Partial<Head>;

/** Key of `timeoutMs`. Value: milliseconds (varint). */
const TIMEOUT = 0x1;
/** Key of `codec`. Value: UTF-8. */
const CODEC = 0x2;
/** Key of `metadata`. Value: entries. */
const METADATA = 0x3;
/** Key of `from`. Value: UTF-8. */
const FROM = 0x4;
/** Key of `fingerprint`. Value: 4 bytes, big-endian. */
const FINGERPRINT = 0x5;
/** Key of `resume`. Value: token (16 bytes) and positions, as `encodeResume` writes them. */
const RESUME = 0x6;
/** Key of `trailers`. Value: entries. */
const TRAILERS = 0x7;
/** Key of `refused`. Value: empty, or 1 byte with the reason. */
const REFUSED = 0x9;
/** Key of `reason`. Value: UTF-8. */
const REASON = 0xb;

/** Maximum bytes of the name of a declared error. */
const MAX_REASON_BYTES = 256;
const MAX_CODEC_BYTES = 64;
/** Maximum UTF-8 bytes of a cursor: three for each UTF-16 code unit. */
const MAX_CURSOR_BYTES = 3 * MAX_CURSOR_LENGTH;
const NOTHING = new Uint8Array(0);
/** Value of the field `REFUSED` if the session accepts no more calls. */
const LEAVING = 1;

export function writeHead(out: ByteWriter, head: HeadFields): void {
  const { timeoutMs, metadata, from, resume, fingerprint, codec, trailers, refused, leaving, reason } = head;
  const start = out.position;
  if (timeoutMs !== undefined) {
    out.byte(TIMEOUT);
    const at = out.position;
    out.byte(0);
    out.varint(timeoutMs);
    out.buffer[at] = out.position - at - 1;
  }
  if (metadata !== undefined) writeField(out, METADATA, metadata);
  if (from !== undefined) writeField(out, FROM, encodeText(from, MAX_CURSOR_BYTES));
  if (resume !== undefined) writeField(out, RESUME, resume);
  if (fingerprint !== undefined) writeField(out, FINGERPRINT, uint32(fingerprint));
  if (codec !== undefined) writeField(out, CODEC, encodeText(codec, MAX_CODEC_BYTES));
  if (trailers !== undefined) writeField(out, TRAILERS, trailers);
  if (refused === true) writeField(out, REFUSED, leaving === true ? Uint8Array.of(LEAVING) : NOTHING);
  if (reason !== undefined) writeField(out, REASON, encodeText(reason, MAX_REASON_BYTES));
  // The length of the fields goes before them.
  const { position } = out;
  const length = position - start;
  out.varint(length);
  out.buffer.copyWithin(start + out.position - position, start, position);
  writeVarint(out.buffer, start, length);
}

/** Appends a field with a key below 64: key (varint), length (varint), value. */
export function writeField(out: ByteWriter, key: number, value: Uint8Array): void {
  out.byte(key);
  out.varint(value.length);
  out.bytes(value);
}

/**
 * Reads a head and moves the cursor to the payload, even if it throws `RpcError`: `unimplemented` for an unknown field
 * that must not be ignored, `invalid_argument` or `resource_exhausted` for metadata.
 */
export function readHead(cursor: Cursor, maxMetadataBytes: number): Head {
  const head: Head = {
    timeoutMs: undefined,
    codec: undefined,
    from: undefined,
    resume: undefined,
    fingerprint: undefined,
    metadata: undefined,
    trailers: undefined,
    refused: false,
    leaving: false,
    reason: undefined,
  };
  const fields = cursor.nested();
  while (fields.position < fields.end) {
    const key = fields.varint();
    const value = fields.nested();
    if (key === TIMEOUT) head.timeoutMs = value.varint();
    else if (key === METADATA) head.metadata = checkMetadata(value, maxMetadataBytes);
    else if (key === TRAILERS) head.trailers = checkMetadata(value, maxMetadataBytes);
    else if (key === FROM) head.from = value.text();
    else if (key === RESUME) head.resume = value.rest();
    else if (key === CODEC) head.codec = value.text();
    else if (key === FINGERPRINT) head.fingerprint = readUint32(value);
    else if (key === REFUSED) {
      head.refused = true;
      head.leaving = value.position < value.end && value.byte() === LEAVING;
    } else if (key === REASON) head.reason = value.text();
    else if (key % 2 === 0) throw new RpcError("unimplemented", `head field ${key} is not understood here`);
  }
  return head;
}

function uint32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

function readUint32(cursor: Cursor): number {
  return ((cursor.byte() * 256 + cursor.byte()) * 256 + cursor.byte()) * 256 + cursor.byte();
}
