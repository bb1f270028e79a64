import type { RpcError } from "@quicrpc/core";
import { codeNumber } from "@quicrpc/core/internal";
import { readBase64, unpadded } from "@quicrpc/http/internal";
import { writeBytes, writeInt32, writeMessage, writeString } from "@quicrpc/protobuf/generated";

/**
 * Most characters of a message and its details in headers: many clients refuse headers of more than 8 KiB, and Node
 * closes the connection at 64 KiB.
 */
const MAX_STATUS = 6144;
const LEVELS = 2;

/** A detail of an error: a protobuf message. */
export interface StatusDetail {
  /** Full name of its type. */
  readonly type: string;
  /** Its bytes in base64. */
  readonly value: string;
}

/** Adds the end of a call to its trailers. */
export function setStatus(
  trailers: Headers,
  error: RpcError | undefined,
  message: string = "",
  details: readonly StatusDetail[] = [],
): void {
  trailers.set("grpc-status", String(error === undefined ? 0 : codeNumber(error.code)));
  if (error === undefined) return;
  const utf8 = encoder.encode(message);
  const encoded = percentEncoded(utf8);
  if (encoded !== "") trailers.set("grpc-message", encoded);
  if (details.length === 0) return;
  const status = detailsText(codeNumber(error.code), utf8, details);
  // The code and the message are worth more than the details.
  if (status !== undefined && encoded.length + status.length <= MAX_STATUS)
    trailers.set("grpc-status-details-bin", status);
}

const encoder = new TextEncoder();

/** Encodes the bytes of a text that are not printable ASCII, and "%". Cuts the text before a character that exceeds `MAX_STATUS`. */
function percentEncoded(utf8: Uint8Array): string {
  let encoded = "";
  let start = 0;
  for (const byte of utf8) {
    const isContinuation = (byte & 0xc0) === 0x80;
    if (!isContinuation) start = encoded.length;
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    if (encoded.length > MAX_STATUS) return encoded.slice(0, start);
  }
  return encoded;
}

/** Returns a `google.rpc.Status` in base64; undefined if a detail has no form in protobuf. */
function detailsText(code: number, message: Uint8Array, details: readonly StatusDetail[]): string | undefined {
  try {
    return unpadded(statusBytes(code, message, details));
  } catch {
    return undefined;
  }
}

/** Returns a `google.rpc.Status`. */
function statusBytes(code: number, message: Uint8Array, details: readonly StatusDetail[]): Uint8Array {
  const room = details.reduce((sum, { type, value }) => sum + type.length * 3 + value.length + 64, 64);
  const bytes = new Uint8Array(room + message.length);
  bytes[0] = 8;
  let p = writeInt32(bytes, 1, code);
  bytes[p] = 18;
  p = writeBytes(bytes, p + 1, message);
  for (const detail of details) {
    bytes[p] = 26;
    p = writeMessage(bytes, p + 1, detail, writeAny, LEVELS);
  }
  return bytes.subarray(0, p);
}

/** Writes a `google.protobuf.Any`. */
function writeAny(b: Uint8Array, p: number, value: unknown): number {
  const { type, value: base64 } = value as StatusDetail;
  b[p] = 10;
  const q = writeString(b, p + 1, `type.googleapis.com/${type}`);
  b[q] = 18;
  return writeBytes(b, q + 1, readBase64(base64) ?? new Uint8Array(0));
}
