const UTF8 = new TextEncoder();

/** Characters of an answer up to which it stays text: servers send that in one piece with its head. */
const MAX_CHARACTERS = 1024;

/** The body of an answer: text where it is short, else its bytes. */
export type WholeBody = Uint8Array | string;

/** A text as the body of an answer. */
export function bodyOf(text: string): WholeBody {
  return text.length > MAX_CHARACTERS ? UTF8.encode(text) : text;
}

/** A body in bytes. */
export function bytesOfBody(body: WholeBody): Uint8Array {
  return typeof body === "string" ? UTF8.encode(body) : body;
}

/** Bytes of a body. */
export function lengthOf(body: WholeBody): number {
  if (typeof body !== "string") return body.length;
  for (let at = 0; at < body.length; at++) if (body.charCodeAt(at) > 0x7f) return UTF8.encode(body).length;
  return body.length;
}
