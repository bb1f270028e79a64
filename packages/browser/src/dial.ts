import {
  type AdvancedSessionOptions,
  type Backoff,
  createSession,
  type Credentials,
  flatOptions,
  publicUrl,
  sessionOn,
  withCredentials,
} from "@quicrpc/core/internal";
import { createCallerSession } from "@quicrpc/core/transport";
import type { Session, SessionOptions } from "@quicrpc/core";
import { DEFAULT_TIMEOUT_MS, pageUrl } from "./reconnecting.js";
import { type Candidate, type OpenOptions, openFirst } from "./open.js";
import {
  type BrowserTransport,
  type CertificateHash,
  type HttpProvider,
  type HttpSettings,
  carriesCalls,
  type OfSessions,
  type PageTransportProvider,
  type Reached,
} from "./transport.js";
import { ifAllowed, usualVia } from "./policy.js";
import { webSocketProvider } from "./web-socket.js";
import { webTransportProvider } from "./web-transport.js";

/** Default time in milliseconds for which only WebTransport is tried before the fallback is tried as well. */
const DEFAULT_FALLBACK_MS = 1500;

/** Options of the fallback, which `connect` and `dial` use if the first transport does not work. */
export interface FallbackOptions {
  /** Transport that is used as the fallback. Default: a WebSocket. */
  readonly transport?: PageTransportProvider;
  /** URL of the fallback. Default for a WebSocket: `wss:` with the same host, port and path. */
  readonly url?: string | URL;
  /**
   * Transport for calls if neither the first transport nor the fallback works, for example behind proxies that only
   * forward HTTP requests: `httpTransport()` of `@quicrpc/http`, or a function that loads it. Over HTTP, the server
   * cannot call the page, and there are no datagrams. A connection with the option `proof` or `metadata` never uses
   * HTTP, because both options need sessions. Default: none.
   */
  readonly http?: HttpProvider | (() => Promise<HttpProvider>);
  /** URL for calls over HTTP, to which names of services are appended. Default: the connection's URL. */
  readonly httpUrl?: string | URL;
  /** Milliseconds after which the next transport is tried as well, if a transport has not answered. Default 1500. */
  readonly afterMs?: number;
  /**
   * Pauses between attempts to return to the first transport while the fallback is in use. An attempt is also made when
   * the network is available again. Once the first transport works, it is used for new calls; calls in progress finish
   * over the fallback. `false`: no attempt until the session over the fallback is lost. Default: `{ initialMs: 5000,
   * maxMs: 300_000, factor: 2 }`.
   */
  readonly retry?: Partial<Backoff> | false;
  /**
   * Milliseconds for which `connect` uses the fallback at once, in all pages of this origin, after the first transport
   * has failed: it did not answer in time, or its sessions carried no data or were soon lost. During this time the
   * first transport is tried again in the background. 0 disables this. Default 600,000.
   */
  readonly rememberMs?: number;
}

export interface ReachOptions {
  /**
   * SHA-256 hashes of the certificates to trust (W3C WebTransport §9.4). The server's certificate must be ECDSA P-256,
   * valid now, and valid for at most 14 days in total. Default: none; the browser's root certificates are trusted.
   */
  readonly serverCertificateHashes?: readonly CertificateHash[] | undefined;
  /**
   * Options of the fallback, which is used if WebTransport is missing, refused or does not answer; `false` for none.
   * Browsers support no certificate hashes for a WebSocket, so the browser itself must trust the server's certificate.
   * Default: a WebSocket.
   */
  readonly fallback?: FallbackOptions | false | undefined;
}

/** Options of `dial`. */
export interface DialOptions<Context = unknown>
  extends Pick<SessionOptions<Context>, "limits" | "onError" | "routers">,
    ReachOptions {
  /**
   * Credentials of this page over any transport: a token, or a function that returns a token. The function is called
   * for each session, and again before the token expires. The page sends the token at the start of the session, and the
   * server's `authenticate` receives it as `Peer.credentials`. Default: none.
   */
  readonly credentials?: Credentials;
  /** Timeout in milliseconds for all attempts together. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborts the attempt. The promise then rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal;
  /** Options that few pages set. Default: none. */
  readonly advanced?: AdvancedDialOptions<Context>;
}

/** Options of `dial` that few pages set. */
export interface AdvancedDialOptions<Context = unknown> extends AdvancedSessionOptions<Context> {
  /** Transport that is tried first. Default: the browser's own WebTransport. */
  readonly transport?: PageTransportProvider | undefined;
}

/**
 * Creates one session like `connect`, but does not reconnect. Use it for example with `createPool` of `@quicrpc/pool`.
 * Rejects with a `TransportError` that describes the failure of each transport, and with `TypeError` for a URL of
 * another scheme.
 */
export async function dial<Context = unknown>(
  url: string | URL,
  options: DialOptions<Context> = {},
): Promise<Session<BrowserTransport>> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal = new AbortController().signal } = options;
  const settings = flatOptions(options);
  const reach = candidatesFor(url, settings);
  const sessionOptions = await withCredentials(settings);
  const { value: reached } = await openFirst({ ...reach, timeoutMs, signal });
  if (carriesCalls(reached)) return createCallerSession(reached);
  const session = await sessionOn(reached, (transport) =>
    createSession(transport, { peer: reach.url, ...usualVia(), ...sessionOptions }),
  );
  await settings.proof?.proven(session, signal);
  return session;
}

/** Returns the transports that can be tried for `url`, the preferred one first. */
export function candidatesFor(
  url: string | URL,
  options: ReachOptions & Pick<AdvancedDialOptions, "transport"> & HttpSettings & OfSessions,
): Pick<OpenOptions<Reached>, "url" | "candidates" | "afterMs"> {
  const { serverCertificateHashes, transport = webTransportProvider, fallback = {} } = options;
  const target = pageUrl(url, "https://, wss:// or ws://");
  const candidate = (transport: PageTransportProvider, ownUrl?: string | URL): Candidate<Reached> => {
    const { kind, name, scheme } = transport;
    const url = new URL(ownUrl ?? target);
    if (ownUrl === undefined) url.protocol = scheme;
    return {
      kind,
      name,
      open: (signal) => ifAllowed(url, () => transport.open(url, signal, { serverCertificateHashes })),
    };
  };
  const defaults = { url: publicUrl(target), afterMs: DEFAULT_FALLBACK_MS };
  if (target.protocol !== "https:") {
    if (options.transport ?? (options.fallback || serverCertificateHashes)) {
      throw new TypeError(`${target.protocol}// takes no transport, fallback or serverCertificateHashes`);
    }
    return { ...defaults, candidates: [candidate(webSocketProvider, target)] };
  }
  const candidates = [candidate(transport)];
  const { afterMs = defaults.afterMs, http, httpUrl = target, ...next } = fallback === false ? {} : fallback;
  if (fallback !== false) candidates.push(candidate(next.transport ?? webSocketProvider, next.url));
  if (http !== undefined) {
    const url = new URL(httpUrl, target);
    candidates.push({
      kind: "http",
      name: "HTTP",
      isRefused: (options.proof ?? options.metadata) !== undefined,
      open: async (signal) => (await import("./loaded-later.js")).openHttp(url, http, options, signal),
    });
  }
  return { ...defaults, candidates, afterMs };
}
