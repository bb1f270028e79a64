import type { Credentials, ForeignClient } from "@quicrpc/core/transport";
import { HttpClient } from "./http-client.js";
import type { HttpOptions } from "./options.js";

/** Arguments that `connect` of `@quicrpc/node` and of `@quicrpc/browser` passes beside a program's options. */
interface DialOptions extends Pick<HttpOptions, "limits" | "headers"> {
  readonly credentials?: Credentials | undefined;
}

/** Calls over plain HTTP, as a transport of `connect` and as a caller of its own. */
export interface HttpTransport {
  readonly name: string;
  readonly schemes: readonly string[];
  readonly defaultPort: number;
  /** Requests have header fields; what `fetch` does by itself, such as TLS, is not for this library to say. */
  readonly abilities: { readonly streams: true; readonly headers: true };
  /** Makes a session, for `transports` of `connect` in Node, and `fallback.http` in pages. Nothing is sent before the first call. */
  readonly dial: (url: URL, options?: DialOptions) => Promise<ForeignClient>;
  /**
   * Returns what generated clients take: `createArithClient(httpTransport().caller("https://orders.example"))`. In a page the URL may be
   * relative. Throws `TypeError` for a URL of another scheme.
   */
  readonly caller: (url: string | URL) => ForeignClient;
}

/**
 * Calls by the Connect protocol over `fetch`, to a server with `createFetchHandler` or any other server of that protocol. Each call is a
 * request: nothing is connected before, and nothing can be lost between two calls.
 *
 * @example
 * const arith = createArithClient(httpTransport().caller("https://orders.example"));
 */
export function httpTransport(options: HttpOptions = {}): HttpTransport {
  const open = (url: URL, more: HttpOptions = {}): HttpClient => {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`HTTP takes a URL that begins with https:// or http://, not ${url.protocol}//`);
    }
    return new HttpClient(url, { ...options, ...more });
  };
  return {
    name: "HTTP",
    schemes: ["https:", "http:"],
    defaultPort: 443,
    abilities: { streams: true, headers: true },
    caller: (url) => open(new URL(url, globalThis.location?.href)),
    async dial(url, { limits, headers, credentials } = {}) {
      return open(url, {
        limits: { ...options.limits, ...limits },
        headers: { ...options.headers, ...headers },
        ...(credentials !== undefined && { credentials }),
      });
    },
  };
}
