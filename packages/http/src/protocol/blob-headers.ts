import { fromBase64, toBase64 } from "@quicrpc/core/transport";

/** Header fields of draft-ietf-httpbis-resumable-upload. */
export const UPLOAD_COMPLETE = "upload-complete";
export const UPLOAD_OFFSET = "upload-offset";
export const UPLOAD_LENGTH = "upload-length";
export const UPLOAD_LIMIT = "upload-limit";
/** The content type of bytes that are appended. */
export const PARTIAL_UPLOAD = "application/partial-upload";

/** Header fields with a digest, and by which it is asked for (RFC 9530). */
export const REPR_DIGEST = "repr-digest";
export const WANT_REPR_DIGEST = "want-repr-digest";
/** The SHA-256 of the bytes before a range, or of those of an upload so far, in hexadecimal digits: the sender goes on where it has the same. */
export const BEGINS_WITH = "quicrpc-begins-with";

/** A structured boolean (RFC 9651): undefined where it is none. */
export function readBoolean(value: string | undefined): boolean | undefined {
  return value === "?1" ? true : value === "?0" ? false : undefined;
}

/** A structured integer that is no less than zero: undefined where there is none. NaN for what is none. */
export function readCount(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  return /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
}

/** The SHA-256 of a `Repr-Digest`, in hexadecimal digits; undefined where it has none. */
export function readDigest(value: string | undefined | null): string | undefined {
  const [, text] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):/.exec(value ?? "") ?? [];
  const bytes = text === undefined ? undefined : fromBase64(text);
  if (bytes?.length !== 32) return undefined;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A `Repr-Digest` of a SHA-256 in hexadecimal digits. */
export function writeDigest(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return `sha-256=:${toBase64(bytes)}:`;
}

/** A `Content-Disposition` (RFC 6266) of a file that is saved, never shown, with its name where there is one. */
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

/** The file name of a `Content-Disposition`; empty where it has none that can be read. */
export function readDisposition(value: string | undefined): string {
  const [, encoded] = /;\s*filename\*=UTF-8''([^;\s]+)/i.exec(value ?? "") ?? [];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded).slice(0, 1024);
  } catch {
    // The plain one stands beside it.
  }
  const [, quoted, token] = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(value ?? "") ?? [];
  return (quoted?.replace(/\\(.)/g, "$1") ?? token ?? "").slice(0, 1024);
}

/** The type of a blob as a `Content-Type`; one that is none is no header either. */
export function writeType(type: string): string {
  return /^[\x21-\x7e][\x20-\x7e]*$/.test(type) ? type : "application/octet-stream";
}
