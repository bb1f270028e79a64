const UTF8 = new TextEncoder();

/**
 * Maximum characters of a response body that stays a string. Node's servers send a string in one piece with the
 * response head.
 */
const MAX_CHARACTERS = 1024;

/** The body of a response: a string if it is short, otherwise bytes. */
export type WholeBody = Uint8Array | string;

/** Returns `text` as a response body: a string if it is short, otherwise UTF-8. */
export function bodyOf(text: string): WholeBody {
  return text.length > MAX_CHARACTERS ? UTF8.encode(text) : text;
}

/** Returns a response body as bytes. */
export function bytesOfBody(body: WholeBody): Uint8Array {
  return typeof body === "string" ? UTF8.encode(body) : body;
}

/** Returns the length of a response body in bytes. */
export function bodyLengthOf(body: WholeBody): number {
  if (typeof body !== "string") return body.length;
  for (let at = 0; at < body.length; at++) if (body.charCodeAt(at) > 0x7f) return UTF8.encode(body).length;
  return body.length;
}
