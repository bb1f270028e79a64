// URL parsers convert the host of a URL to ASCII in time proportional to the square of its length.

/** Most characters of a URL's host and port. Valid host names have at most 253. */
const MAX_HOST = 300;
/** A scheme whose host is converted to ASCII, up to the path. Parsers skip the white space and control characters before it. */
const AUTHORITY = /^[\s\p{Cc}]*(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/iu;

/** Message of the issue for such a URL. */
export const LONG_HOST: string = `invalid URL: its host has more than ${MAX_HOST} characters`;

/** Returns true if `text` is a URL whose host is longer than any valid one. */
export function hasLongHost(text: string): boolean {
  if (text.length <= MAX_HOST) return false;
  // URL parsers ignore these characters everywhere.
  const [, authority = ""] = AUTHORITY.exec(text.replaceAll(/[\t\n\r]/g, "")) ?? [];
  return authority.length - (authority.lastIndexOf("@") + 1) > MAX_HOST;
}
