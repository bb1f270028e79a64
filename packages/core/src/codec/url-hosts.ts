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

/** Whether a text in `value`, which may be a key, would be such a URL. */
export function holdsLongHost(value: unknown): boolean {
  if (typeof value === "string") return hasLongHost(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  if (Array.isArray(value)) return value.some(holdsLongHost);
  if (value instanceof Map || value instanceof Set) return [...value].some(holdsLongHost);
  return Object.entries(value).some(([key, each]) => hasLongHost(key) || holdsLongHost(each));
}

/** Whether zod parses texts as URLs somewhere in `schema`, or in what is inside it. */
export function parsesUrls(schema: unknown, seen: Set<unknown> = new Set()): boolean {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return false;
  seen.add(schema);
  const { _zod: internals } = schema as { readonly _zod?: { readonly def: Definition } };
  if (internals === undefined) {
    return isPlain(schema) && Object.values(schema).some((part) => parsesUrls(part, seen));
  }
  const { def } = internals;
  if (def.format === "url") return true;
  const parts = def.type === "lazy" ? [def.getter?.()] : Object.values(def);
  return parts.some((part) => parsesUrls(part, seen));
}

interface Definition {
  readonly type?: string;
  readonly format?: string;
  readonly getter?: () => unknown;
}

/** Whether a part of a definition may hold schemas. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
