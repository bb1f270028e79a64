import { fromBase64, toBase64 } from "@quicrpc/core/internal";

/** Names of header fields of resumable uploads (draft-ietf-httpbis-resumable-upload). */
export const UPLOAD_COMPLETE = "upload-complete";
export const UPLOAD_OFFSET = "upload-offset";
export const UPLOAD_LENGTH = "upload-length";
export const UPLOAD_LIMIT = "upload-limit";
/** Content type of a PATCH request that appends bytes to an upload. */
export const PARTIAL_UPLOAD = "application/partial-upload";

/** Names of the header fields that contain a digest, or request one (RFC 9530). */
export const REPR_DIGEST = "repr-digest";
export const WANT_REPR_DIGEST = "want-repr-digest";
/**
 * Name of the header field with the SHA-256, in hexadecimal, of the bytes before a requested range, or of the bytes of
 * an upload so far. The receiver continues only if its own bytes have the same digest.
 */
export const BEGINS_WITH = "quicrpc-begins-with";

/** Parses a boolean header field (RFC 9651); undefined if it is missing or invalid. */
export function parseBoolean(value: string | undefined): boolean | undefined {
  return value === "?1" ? true : value === "?0" ? false : undefined;
}

/**
 * Parses an integer header field (RFC 9651) of at least zero. Returns undefined if it is missing, NaN if it is invalid.
 */
export function readCount(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  return /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
}

/** Returns the SHA-256 in a `Repr-Digest` header field (RFC 9530), in hexadecimal; undefined if there is none. */
export function readDigest(value: string | undefined | null): string | undefined {
  const [, text] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):/.exec(value ?? "") ?? [];
  const bytes = text === undefined ? undefined : fromBase64(text);
  if (bytes?.length !== 32) return undefined;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Returns the value of a `Repr-Digest` header field (RFC 9530) with a SHA-256.
 *
 * @param hex the digest in hexadecimal
 */
export function writeDigest(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return `sha-256=:${toBase64(bytes)}:`;
}

/**
 * Returns the value of a `Content-Disposition` header field (RFC 6266) that makes browsers save the file and never
 * display it.
 *
 * @param name file name; empty for none
 */
export function writeDisposition(name: string): string {
  if (name === "") return "attachment";
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\uFFFD")).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return plain === name
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** Returns the file name in a `Content-Disposition` header field; empty if it contains no valid one. */
export function readDisposition(value: string | undefined): string {
  const [, encoded] = /;\s*filename\*=UTF-8''([^;\s]+)/i.exec(value ?? "") ?? [];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded).slice(0, 1024);
  } catch {
    // The encoded name is malformed; the parameter `filename` is used instead.
  }
  const [, quoted, token] = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(value ?? "") ?? [];
  return (quoted?.replace(/\\(.)/g, "$1") ?? token ?? "").slice(0, 1024);
}

/** Returns the `Content-Type` for a blob's media type; empty if the type is not valid in a header field. */
export function writeType(type: string): string {
  return /^[\x21-\x7e][\x20-\x7e]*$/.test(type) ? type : "application/octet-stream";
}
