import { describeMethod, foreignUnaryCalls } from "@quicrpc/core/generated";
import type { Credentials } from "@quicrpc/core/internal";
import type { ForeignClient } from "@quicrpc/core/transport";
import { HttpClient } from "./http-client.js";
import type { HttpOptions } from "./options.js";
import { HTTP_SERVICE } from "../protocol/ping.js";

const METHOD = describeMethod(HTTP_SERVICE, foreignUnaryCalls, "ping", { id: 1 });

/** A client that can ping: servers of this library have a method for it. */
class PingClient extends HttpClient {
  /**
   * Sends a ping and returns the milliseconds until the response. Rejects if there is no response, if the server
   * refuses the credentials, or if the response is not from a server of this library.
   */
  async ping(): Promise<number> {
    const since = performance.now();
    await this.start(METHOD, undefined);
    return performance.now() - since;
  }
}

/**
 * Options that `connect` of `@quicrpc/node` and `@quicrpc/browser` passes to a transport, in addition to the
 * application's options.
 */
interface DialOptions extends Pick<HttpOptions, "limits" | "headers"> {
  readonly credentials?: Credentials | undefined;
}

/** A transport that makes calls over plain HTTP. It works with `connect`, or provides callers without sessions. */
export interface HttpTransport {
  readonly name: string;
  readonly schemes: readonly string[];
  readonly defaultPort: number;
  /** This transport's requests have header fields. Capabilities of `fetch` itself, such as TLS, are not listed. */
  readonly capabilities: { readonly streams: true; readonly headers: true };
  /**
   * Creates a session, for the option `transports` of `connect` in Node and `fallback.http` in browsers. Sends nothing
   * before the first call.
   */
  readonly dial: (url: URL, options?: DialOptions) => Promise<ForeignClient>;
  /**
   * Returns a caller for generated clients: `createArithClient(httpTransport().caller("https://orders.example"))`. In a
   * page the URL may be relative. Throws `TypeError` for a URL of another scheme.
   */
  readonly caller: (url: string | URL) => ForeignClient;
}

/**
 * Makes calls by the Connect protocol over `fetch`, to a server with `createFetchHandler` or any other server of that
 * protocol. Each call is a request: no connection is made in advance, and none can be lost between calls.
 *
 * @example
 * const arith = createArithClient(httpTransport().caller("https://orders.example"));
 */
export function httpTransport(options: HttpOptions = {}): HttpTransport {
  return transportOf(options, PingClient);
}

export function transportOf<Options extends HttpOptions>(
  options: Options,
  Client: new (url: URL, options: Options) => ForeignClient,
): HttpTransport {
  const open = (url: URL, more?: HttpOptions): ForeignClient => {
    if (!/^https?:$/.test(url.protocol)) {
      throw new TypeError(`HTTP takes a URL that begins with https:// or http://, not ${url.protocol}//`);
    }
    return new Client(url, { ...options, ...more });
  };
  return {
    name: "HTTP",
    schemes: ["https:", "http:"],
    defaultPort: 443,
    capabilities: { streams: true, headers: true },
    caller: (url) => open(new URL(url, globalThis.location?.href)),
    async dial(url, { limits, headers, credentials } = {}) {
      return open(url, {
        limits: { ...options.limits, ...limits },
        headers: { ...options.headers, ...headers },
        credentials: credentials ?? options.credentials,
      });
    },
  };
}
