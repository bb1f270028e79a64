import { fromBase64, toBase64 } from "@quicrpc/core/internal";

/** Encodes bytes as base64 without padding, for header fields and error details. */
export function unpadded(bytes: Uint8Array): string {
  return toBase64(bytes).replace(/=+$/, "");
}

/** Encodes bytes as URL-safe base64 (RFC 4648 §5) without padding, for queries. */
export function urlSafe(bytes: Uint8Array): string {
  return unpadded(bytes).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Decodes base64 in the standard or URL-safe alphabet, with or without padding. Returns undefined if it is malformed.
 */
export function readBase64(text: string): Uint8Array | undefined {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
