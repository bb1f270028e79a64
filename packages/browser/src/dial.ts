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

/** Milliseconds for which only WebTransport is tried. */
const DEFAULT_FALLBACK_MS = 1500;

/** Options of the fallback transport. */
export interface FallbackOptions {
  /** The transport to fall back to. Default: a WebSocket. */
  readonly transport?: PageTransportProvider;
  /** URL of the fallback. Default: for a WebSocket `wss:` with the same host, port and path. */
  readonly url?: string | URL;
  /**
   * Carries calls if neither the first transport nor the fallback works, for example behind proxies that only forward
   * requests. Either `httpTransport()` of `@quicrpc/http`, or a function that loads it on demand. The server cannot
   * call the page over it, and it has no datagrams. It is not tried with the options `proof` and `metadata`, which
   * require sessions. Default: none.
   */
  readonly http?: HttpProvider | (() => Promise<HttpProvider>);
  /** URL for HTTP, to which names of services are appended. Default: the connection's own. */
  readonly httpUrl?: string | URL;
  /** Milliseconds without an answer by one transport after which the next is tried as well. Default 1500. */
  readonly afterMs?: number;
  /**
   * When `connect` tries the first transport again while the fallback is in use: after about 5 s, then after twice as
   * long each time, up to 5 minutes, and when the network is back. New calls use it once it has answered; calls in
   * progress finish on the fallback. `false`: not before the fallback is lost. Default: `{ initialMs: 5000, maxMs:
   * 300_000, factor: 2 }`.
   */
  readonly retry?: Partial<Backoff> | false;
  /**
   * Milliseconds for which `connect` uses the fallback at once, in this page and others of its origin. The time
   * begins when the first transport did not answer in time, or opened sessions that carried nothing or were soon lost.
   * Meanwhile the first transport is tried again in the background. Default 600,000. 0: nothing is remembered.
   */
  readonly rememberMs?: number;
}

/** Options for reaching the server from a page. */
export interface ReachOptions {
  /**
   * Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. Default: none, the browser's roots are
   * trusted.
   */
  readonly serverCertificateHashes?: readonly CertificateHash[] | undefined;
  /**
   * The WebSocket or other transport that is used if WebTransport is missing, refused or does not answer; `false` for
   * none. Browsers support no certificate hashes for it: its certificate must be trusted by the browser itself.
   * Default: a WebSocket.
   */
  readonly fallback?: FallbackOptions | false | undefined;
}

/** Options of `dial`. */
export interface DialOptions<Context = unknown>
  extends Pick<SessionOptions<Context>, "limits" | "onError" | "routers">,
    ReachOptions {
  /**
   * Credentials of this page over any transport: a token, or a function that returns one. The function is called for
   * each session and before the token expires. They go in the session's greeting, and `authenticate` of the server gets
   * them as `Peer.credentials`. Default: none.
   */
  readonly credentials?: Credentials;
  /** Milliseconds for all attempts together. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborting ends the attempt with the signal's reason. Default: none. */
  readonly signal?: AbortSignal;
  /** Options that few pages set. Default: none. */
  readonly advanced?: AdvancedDialOptions<Context>;
}

/** Options of `dial` that few pages set. */
export interface AdvancedDialOptions<Context = unknown> extends AdvancedSessionOptions<Context> {
  /** The transport that is tried first. Default: the browser's own WebTransport. */
  readonly transport?: PageTransportProvider | undefined;
}

/**
 * Creates one session as `connect` does, without reconnecting: for example for `createPool` of `@quicrpc/pool`.
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
  const { made } = await openFirst({ ...reach, timeoutMs, signal });
  if (carriesCalls(made)) return createCallerSession(made);
  const session = await sessionOn(made, (reached) =>
    createSession(reached, { peer: reach.url, ...usualVia(), ...sessionOptions }),
  );
  await settings.proof?.proven(session, signal);
  return session;
}

/** Returns the transports for `url`, the best first. */
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
