import { fromBase64, toBase64 } from "@quicrpc/core/transport";

/** Converts bytes to base64 without padding, as headers and error details have it. */
export function unpadded(bytes: Uint8Array): string {
  return toBase64(bytes).replace(/=+$/, "");
}

/** Converts bytes to the URL-safe alphabet (RFC 4648 §5) without padding, as a query has it. */
export function urlSafe(bytes: Uint8Array): string {
  return unpadded(bytes).replaceAll("+", "-").replaceAll("/", "_");
}

/** Reads base64 of either alphabet, padded or not. Returns undefined for what is none. */
export function readBase64(text: string): Uint8Array | undefined {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
