import { TransportError } from "@quicrpc/core";

/** Error codes for a page that could not reach its server. The codes are listed in docs/error-codes.md. */
interface UnreachedCodes {
  /** In a page: the server did not answer in time over any transport. */
  readonly ETIMEDOUT: "page";
  /**
   * In a page: every transport failed. The message states how.
   *
   * Is the server running, is its certificate trusted, do its `allowedOrigins` contain this page's origin?
   */
  readonly ERR_UNREACHABLE: "page";
  /**
   * The page's Content-Security-Policy forbids every transport.
   *
   * Add the server to `connect-src`.
   */
  readonly ERR_FORBIDDEN: "page";
}

export type UnreachedCode = keyof UnreachedCodes;

export const FORBIDDEN = "ERR_FORBIDDEN";

const HINT =
  "the page's console may say more: is the server running, is its certificate trusted, do its allowedOrigins have this page?";

/** Creates the error of a failed connection attempt. It contains the failure of each transport. */
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

/** Returns the message of an error of `unreached` without the URL, for a caller that knows the URL. */
export function reasonOf({ message }: Error, url: string): string {
  return message.startsWith(prefix(url)) ? message.slice(prefix(url).length) : message;
}

function prefix(url: string): string {
  return `cannot connect to ${url}: `;
}
