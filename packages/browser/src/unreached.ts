import { TransportError } from "@quicrpc/core";

/** How a page did not reach its server: nothing answered in time, every transport failed, or the page forbids them all. */
export type UnreachedCode = "ETIMEDOUT" | "ERR_UNREACHABLE" | typeof FORBIDDEN;

export const FORBIDDEN = "ERR_FORBIDDEN";

const HINT =
  "a page is told little more, and its console may be: is the server running, is its certificate trusted, do its allowedOrigins have this page?";

/** The error of an attempt to connect, with what became of each transport. */
export function unreached(
  url: string,
  code: UnreachedCode,
  reasons: readonly string[],
  cause: unknown,
): TransportError {
  const message = `${prefix(url)}${reasons.join("; ")}`;
  const hint = code === FORBIDDEN ? undefined : HINT;
  return new TransportError({ code, url, message, hint, cause });
}

/** The message of such an error for those who know the URL. */
export function reasonOf({ message }: Error, url: string): string {
  return message.startsWith(prefix(url)) ? message.slice(prefix(url).length) : message;
}

function prefix(url: string): string {
  return `cannot connect to ${url}: `;
}
