import {
  type ClientSessionOptions,
  createClientSession,
  type Credentials,
  onAbort,
  publicUrl,
  withCredentials,
} from "@quicrpc/core/internal";
import type { Session } from "@quicrpc/core";
import {
  type BrowserConnection,
  reconnectingConnection,
  type ReconnectingOptions,
  pageUrl,
  type PageConnectStrategy,
} from "./reconnecting.js";
import type { BrowserTransport, CertificateHash, TransportInUse } from "./transport.js";
import { ForbiddenError, ifAllowed, usualVia } from "./policy.js";
import { webTransportProvider } from "./web-transport.js";
import { FORBIDDEN, unreached } from "./unreached.js";

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions
  extends Omit<ClientSessionOptions, "credentials" | "renewCredentials">,
    Omit<ReconnectingOptions, "limits"> {
  /**
   * Credentials of this page over any transport: a token, or a function that returns a token. The function is called
   * for each session, and again before the token expires. The page sends the token at the start of the session, and the
   * server's `authenticate` receives it as `Peer.credentials`. Sessions that the option `session` creates do not send
   * credentials. Default: none.
   */
  readonly credentials?: Credentials;
  /**
   * SHA-256 hashes of the certificates to trust (W3C WebTransport §9.4). The server's certificate must be ECDSA P-256,
   * valid now, and valid for at most 14 days in total. Default: none; the browser's root certificates are trusted.
   */
  readonly serverCertificateHashes?: readonly CertificateHash[];
  /**
   * Creates a session over each transport session. A page that also serves calls, or compresses messages, passes
   * `(transport) => createSession(transport, { … })`. Default: `createClientSession`.
   */
  readonly session?: (transport: BrowserTransport) => Session<BrowserTransport>;
}

/**
 * Connects like `connect`, but only over WebTransport, and for a page that only makes calls. The bundle is smaller,
 * because it contains neither the fallback nor the code for serving calls.
 */
export async function connectWebTransport(
  url: string | URL,
  options: WebTransportConnectOptions = {},
): Promise<BrowserConnection> {
  const target = pageUrl(url);
  const { serverCertificateHashes } = options;
  const open = (signal: AbortSignal): Promise<BrowserTransport> =>
    ifAllowed(target, () => webTransportProvider.open(target, signal, { serverCertificateHashes }));
  const named = { peer: publicUrl(target), ...usualVia(), ...options };
  const run = options.session ?? (async (transport) => createClientSession(transport, await withCredentials(named)));
  let inUse: TransportInUse | undefined;
  const strategy: PageConnectStrategy<BrowserTransport> = {
    get inUse() {
      return inUse;
    },
    async open(signal, timeoutMs) {
      const transport = await inTime(open, signal, timeoutMs, publicUrl(target));
      inUse = { kind: "webtransport", reason: undefined, retryAt: undefined };
      return transport;
    },
  };
  return reconnectingConnection(strategy, run, named);
}

/**
 * Calls `open` with a signal that fires together with the given signal, or after `timeoutMs` milliseconds. Rejects with
 * the signal's reason if the given signal fires, otherwise with a `TransportError` that states why WebTransport failed.
 */
async function inTime<T>(
  open: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  timeoutMs: number,
  url: string,
): Promise<T> {
  const attempt = new AbortController();
  const timer = setTimeout(
    () => attempt.abort(unreached(url, "ETIMEDOUT", [`no session within ${timeoutMs} ms`], undefined)),
    timeoutMs,
  );
  const stopWatching = onAbort(signal, () => attempt.abort(signal.reason));
  try {
    signal.throwIfAborted();
    return await open(attempt.signal);
  } catch (error) {
    signal.throwIfAborted();
    attempt.signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof ForbiddenError ? FORBIDDEN : "ERR_UNREACHABLE";
    throw unreached(url, code, [`WebTransport failed: ${message}`], error);
  } finally {
    clearTimeout(timer);
    stopWatching();
  }
}
