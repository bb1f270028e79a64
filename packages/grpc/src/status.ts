import type { RpcError } from "@quicrpc/core";
import { codeNumber } from "@quicrpc/core/internal";
import { type ErrorDetail, MAX_DETAILS, readBase64, unpadded } from "@quicrpc/http/internal";
import type { ProtobufMessage } from "@quicrpc/protobuf";
import {
  push,
  readBytes,
  readMessage,
  readString,
  readTag,
  readWhole,
  skipField,
  writeBytes,
  writeInt32,
  writeMessage,
  writeString,
} from "@quicrpc/protobuf/generated";

/**
 * Maximum characters of an error's message and details in header fields. Many clients refuse headers of more than 8
 * KiB, and Node closes the connection at 64 KiB.
 */
const MAX_STATUS = 6144;
/** Maximum number of characters of the status of a response: what Node accepts in headers. */
export const MAX_RECEIVED_STATUS = 65_536;
/** Flag of the envelope that contains the trailers in gRPC-Web. */
export const FLAG_TRAILERS = 0x80;
const LEVELS = 2;

/** A header field or trailer. */
export type Field = readonly [name: string, value: string];

/** The status of a call that succeeded. */
export const SUCCESS: readonly Field[] = [["grpc-status", "0"]];

/** Returns the status of a failed call, as trailers. */
export function statusOf(error: RpcError, message: string, details: readonly ErrorDetail[] = []): readonly Field[] {
  const fields: Field[] = [["grpc-status", String(codeNumber(error.code))]];
  // UTF-8 cannot represent a lone surrogate.
  const text = message.replace(/\p{Surrogate}/gu, "\ufffd");
  const encoded = percentEncoded(text);
  if (encoded !== "") fields.push(["grpc-message", encoded]);
  if (details.length === 0) return fields;
  const status = detailsText(codeNumber(error.code), text, details);
  // The details are omitted if they are too large, because the code and the message are more important.
  if (status !== undefined && encoded.length + status.length <= MAX_STATUS)
    fields.push(["grpc-status-details-bin", status]);
  return fields;
}

/**
 * Percent-encodes "%" and all characters except printable ASCII. Cuts the text so that the result has at most
 * `MAX_STATUS` characters.
 */
function percentEncoded(text: string): string {
  let encoded = "";
  for (const char of text) {
    const next = /[ -$&-~]/.test(char) ? char : encodeURIComponent(char);
    if (encoded.length + next.length > MAX_STATUS) break;
    encoded += next;
  }
  return encoded;
}

/** Returns a `google.rpc.Status` in base64; undefined if it is too large or cannot be encoded. */
function detailsText(code: number, message: string, details: readonly ErrorDetail[]): string | undefined {
  try {
    const status = statusBytes(code, message, details);
    return status && unpadded(status);
  } catch {
    return undefined;
  }
}

/** Returns the bytes of a `google.rpc.Status`; undefined if it is too large. */
function statusBytes(code: number, message: string, details: readonly ErrorDetail[]): Uint8Array | undefined {
  // `writeString` requires room for three bytes per character.
  const bytes = new Uint8Array(3 * MAX_STATUS);
  bytes[0] = 8;
  let p = writeInt32(bytes, 1, code);
  bytes[p] = 18;
  p = writeString(bytes, p + 1, message);
  for (const detail of details) {
    bytes[p] = 26;
    p = writeMessage(bytes, p + 1, detail, writeAny, LEVELS);
  }
  return p > bytes.length ? undefined : bytes.subarray(0, p);
}

function writeAny(b: Uint8Array, p: number, value: unknown): number {
  const { type, value: base64 } = value as ErrorDetail;
  b[p] = 10;
  const q = writeString(b, p + 1, `type.googleapis.com/${type}`);
  b[q] = 18;
  return writeBytes(b, q + 1, readBase64(base64) ?? new Uint8Array(0));
}

/** Reads a message of `grpc-message`. Bytes that are not UTF-8, and "%" without digits, remain readable. */
export function decodedMessage(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (encoded) =>
    new TextDecoder().decode(Uint8Array.from(encoded.slice(1).split("%"), (digits) => Number.parseInt(digits, 16))),
  );
}

/** Reads the first `MAX_DETAILS` details of a `google.rpc.Status` in base64. A malformed or too large one has none. */
export function readDetails(status: string): readonly ErrorDetail[] {
  if (status.length > MAX_RECEIVED_STATUS) return [];
  const bytes = readBase64(status);
  try {
    return bytes === undefined ? [] : readWhole(bytes, 0, bytes.length, readStatus);
  } catch {
    return [];
  }
}

type ReadParameters = Parameters<ProtobufMessage["read"]>;

function readStatus(...[r, end, depth]: ReadParameters): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 26 && details.length < MAX_DETAILS) push(details, readMessage(r, end, readAny, depth));
    else skipField(r, tag, end, depth);
  }
  return details;
}

function readAny(...[r, end, depth]: ReadParameters): ErrorDetail {
  let url = "";
  let value = "";
  while (r.position < end) {
    const tag = readTag(r, end);
    if (tag === 10) url = readString(r, end);
    else if (tag === 18) value = unpadded(readBytes(r, end));
    else skipField(r, tag, end, depth);
  }
  return { type: url.slice(url.lastIndexOf("/") + 1), value };
}
