import { type Code, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { isCode, declaredError, FrameWriter, pack, packDetails, unpack } from "@quicrpc/core/internal";

/** Multiplier of one half of the hash; `B` is that of the other half (constants of MurmurHash3 and xxHash). */
const A = 0x85ebca6b;
const B = 0x9e3779b1;

/** First byte of a stored result: its kind. The MessagePack of the output, or of the error's fields, follows. */
const ANSWER = 0;
const ERROR = 1;
/** Kind of a stored result: the call succeeded, but its output was too large to be stored. */
const UNKEPT = 2;

type ErrorRecord = readonly [
  code: Code,
  message: string,
  reason: string | null,
  details: Uint8Array | null,
  isDeclared: boolean,
];

/** Encodes the output of a call for the store. Throws `RpcError` if the output does not match its schema. */
export function recordAnswer({ output }: AnyMethod, result: unknown, maxBytes: number): Uint8Array {
  const out = new FrameWriter(256);
  out.byte(ANSWER);
  output?.encode(result, out);
  return out.position > maxBytes ? Uint8Array.of(UNKEPT) : out.written().slice();
}

/**
 * Encodes the error that the caller of a call receives, for the store. Omits details that cannot be encoded or are too
 * large.
 */
export function recordError(method: AnyMethod, error: RpcError, maxBytes: number): Uint8Array {
  const { code, message, reason } = error;
  const { details, isDeclared } = detailsOf(method, error);
  const keptDetails = details !== undefined && details.length <= maxBytes ? details : null;
  const fields: ErrorRecord = [code, message.slice(0, maxBytes), reason ?? null, keptDetails, isDeclared];
  const packed = pack(fields);
  const record = new Uint8Array(packed.length + 1);
  record[0] = ERROR;
  record.set(packed, 1);
  return record;
}

function detailsOf(
  method: AnyMethod,
  error: RpcError,
): { readonly details: Uint8Array | undefined; readonly isDeclared: boolean } {
  const declared = error.reason === undefined ? undefined : declaredError(method, error.reason);
  if (declared?.details === undefined) return { details: packDetails(error.details), isDeclared: false };
  try {
    const out = new FrameWriter(256);
    declared.details.encode(error.details, out);
    return { details: out.written().slice(), isDeclared: true };
  } catch {
    return { details: packDetails(error.details), isDeclared: false };
  }
}

/**
 * Returns the output in a stored result, or throws the stored error. Returns "unkept" if the output was too large to be
 * stored.
 */
export function replay(method: AnyMethod, record: Uint8Array): { readonly answer: unknown } | "unkept" {
  const [form] = record;
  if (form === ANSWER) return { answer: method.output?.decode(record, 1, record.length) };
  if (form === UNKEPT) return "unkept";
  throw replayedError(method, record);
}

function replayedError(method: AnyMethod, record: Uint8Array): RpcError {
  const [code, message, name, bytes, isDeclared] = unpack(record, 1, record.length) as ErrorRecord;
  if (!isCode(code)) return new RpcError("internal", "the record of the call cannot be read");
  const reason = name ?? undefined;
  const codec = isDeclared && reason !== undefined ? declaredError(method, reason)?.details : undefined;
  let details: unknown;
  if (bytes !== null) {
    details = codec === undefined ? unpack(bytes, 0, bytes.length) : codec.decode(bytes, 0, bytes.length);
  }
  return new RpcError(code, message, { reason, details });
}

/**
 * Returns the fingerprint of an input: its format, its length and 64 bits of a hash. It detects that different inputs
 * were sent with the same key by mistake. It is not secure against inputs that were made to collide, but an attacker
 * gains nothing from such inputs.
 */
export function inputFingerprint(form: string, bytes: Uint8Array, start: number, end: number): string {
  let a = 0x2f0b4c47;
  let b = 0x41c64e6d;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    a = Math.imul(a ^ byte, A);
    b = Math.imul(b ^ byte, B);
    a ^= a >>> 15;
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (b >>> 7), B);
  b = Math.imul(b ^ (a >>> 11), A);
  return `${form}:${end - start}:${hex(a)}${hex(b)}`;
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}

/**
 * Returns true if two fingerprints may be those of the same input. Fingerprints of different formats, such as JSON and
 * MessagePack, cannot be compared, so the result is true.
 */
export function mayBeSame(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return true;
  return a.slice(0, a.indexOf(":")) !== b.slice(0, b.indexOf(":"));
}
