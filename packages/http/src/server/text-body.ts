const UTF8 = new TextEncoder();

/**
 * Maximum characters of a response body that stays a string. Node's servers send a string in one piece with the
 * response head.
 */
const MAX_CHARACTERS = 1024;

/** The body of a response: a string if it is short, otherwise bytes. */
export type WholeBody = Uint8Array | string;

export function bodyOf(text: string): WholeBody {
  return text.length > MAX_CHARACTERS ? UTF8.encode(text) : text;
}

export function bytesOfBody(body: WholeBody): Uint8Array {
  return typeof body === "string" ? UTF8.encode(body) : body;
}

export function bodyLengthOf(body: WholeBody): number {
  if (typeof body !== "string") return body.length;
  for (let at = 0; at < body.length; at++) if (body.charCodeAt(at) > 0x7f) return UTF8.encode(body).length;
  return body.length;
}
