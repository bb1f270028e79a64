import { Metadata, RpcError } from "@quicrpc/core";
import { isBinaryKey, keyProblem } from "@quicrpc/core/internal";
import { readBase64, unpadded } from "./base64.js";

/** Prefix of the header fields of a unary response that contain trailers. */
export const TRAILER_PREFIX = "trailer-";

/**
 * Name of the response header, or stream trailer, which states that no handler has seen the call, so that it is safe to
 * repeat it.
 */
export const REFUSED_HEADER = "quicrpc-refused";

/** Matches header fields that belong to HTTP or the protocol, or that browsers set. They are not metadata. */
export const OWN: RegExp =
  /^((access-control|connect|quicrpc|sec)-|(accept(-charset|-encoding)?|connection|content-(encoding|length|type)|date|expect|host|http2-settings|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|vary)$)/;

/** Matches printable ASCII that neither begins nor ends with a space, which HTTP would remove. */
const VALUE = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

/**
 * Adds metadata to the header fields of a request or response; binary values become base64. With the prefix
 * `TRAILER_PREFIX`, they become the trailers of a unary response. Throws `RpcError` `invalid_argument` for a value that
 * a header field cannot contain.
 */
export function writeHeaders(metadata: Metadata, headers: Headers, prefix: "" | typeof TRAILER_PREFIX = ""): void {
  for (const [key, value] of metadata) headers.append(prefix + requireKey(key), headerTextOf(key, value));
}

/**
 * Returns the metadata in header fields: those with the prefix, which is removed. Several values of a key are joined by
 * ", ", except binary values. Throws `RpcError` `invalid_argument` for invalid base64.
 */
export function readHeaders(
  headers: Iterable<readonly [name: string, value: string]>,
  prefix: "" | typeof TRAILER_PREFIX = "",
): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    if (name.startsWith(TRAILER_PREFIX) !== (prefix !== "")) continue;
    const key = name.slice(prefix.length);
    if (!OWN.test(key) && keyProblem(key) === undefined) appendText(metadata, key, value);
  }
  return metadata;
}

/** Throws `RpcError` `resource_exhausted` if metadata has more than `maxBytes` bytes in the encoding of sessions. */
export function requireSmall(metadata: Metadata, maxBytes: number): void {
  let size = 0;
  for (const [key, value] of metadata) size += key.length + value.length + 2;
  if (size <= maxBytes) return;
  throw new RpcError(
    "resource_exhausted",
    `the metadata has ${size} bytes, and limits.maxMetadataBytes is ${maxBytes}`,
  );
}

/**
 * Adds a received header value to metadata. For a binary key, the value is base64, or several base64 texts separated by
 * commas. Throws `RpcError` `invalid_argument` for invalid base64.
 */
export function appendText(metadata: Metadata, key: string, value: string): void {
  if (!isBinaryKey(key)) {
    metadata.append(key, value);
    return;
  }
  // Base64 contains no commas.
  for (const text of value.split(",")) {
    const bytes = readBase64(text.trim());
    if (bytes === undefined) throw new RpcError("invalid_argument", `the value of ${key} is not base64`);
    metadata.append(key, bytes);
  }
}

/**
 * Returns `key`. Throws `RpcError` `invalid_argument` if it is the name of a header field of HTTP or of the protocol.
 */
export function requireKey(key: string): string {
  if (!OWN.test(key) && !key.startsWith(TRAILER_PREFIX)) return key;
  const hint = "name it differently: x-… , for example";
  throw new RpcError("invalid_argument", `metadata cannot be named ${key}: over HTTP that is a header of its own`, {
    hint,
  });
}

/**
 * Converts a metadata value to a header value; binary values become base64. Throws `RpcError` `invalid_argument` for
 * text that a header field cannot contain.
 */
export function headerTextOf(key: string, value: string | Uint8Array): string {
  if (typeof value !== "string") return unpadded(value);
  if (VALUE.test(value)) return value;
  const hint = `send it as bytes, under the name ${key}-bin`;
  const problem = "has characters other than printable ASCII, or a space at an end, which HTTP headers do not carry";
  throw new RpcError("invalid_argument", `the value of metadata ${key} ${problem}`, { hint });
}
