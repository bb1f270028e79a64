const UTF8 = new TextEncoder();

/** Maximum characters of a response that stays text: servers send it in one piece with its head. */
const MAX_CHARACTERS = 1024;

/** The body of a response: text if it is short, otherwise bytes. */
export type WholeBody = Uint8Array | string;

/** Converts a text to a response body. */
export function bodyOf(text: string): WholeBody {
  return text.length > MAX_CHARACTERS ? UTF8.encode(text) : text;
}

/** Returns a body as bytes. */
export function bytesOfBody(body: WholeBody): Uint8Array {
  return typeof body === "string" ? UTF8.encode(body) : body;
}

/** Returns the length of a body in bytes. */
export function bodyLengthOf(body: WholeBody): number {
  if (typeof body !== "string") return body.length;
  for (let at = 0; at < body.length; at++) if (body.charCodeAt(at) > 0x7f) return UTF8.encode(body).length;
  return body.length;
}
