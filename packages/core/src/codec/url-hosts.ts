// A platform's URL parser brings the host of a URL to ASCII in time that grows with the square of its length, whatever that is.

/** Characters of a URL's host and port. The longest name of a host has 253. */
const MAX_HOST = 300;
/** The schemes whose hosts are brought to ASCII, and what is between them and a path. Parsers pass over what stands before them. */
const AUTHORITY = /^[\s\p{Cc}]*(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/iu;

/** Message of the issue of such a URL. */
export const LONG_HOST: string = `invalid URL: its host has more than ${MAX_HOST} characters`;

/** Whether `text` would be a URL whose host is longer than any. */
export function hasLongHost(text: string): boolean {
  if (text.length <= MAX_HOST) return false;
  // These are passed over wherever they stand.
  const [, authority = ""] = AUTHORITY.exec(text.replaceAll(/[\t\n\r]/g, "")) ?? [];
  return authority.length - (authority.lastIndexOf("@") + 1) > MAX_HOST;
}
