import {
  type ClientSessionOptions,
  createClientSession,
  type Credentials,
  publicUrl,
  withCredentials,
} from "@quicrpc/core/internal";
import type { Session } from "@quicrpc/core";
import {
  type BrowserConnection,
  reconnectingConnection,
  type ReconnectingOptions,
  pageUrl,
  type ConnectStrategy,
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
   * Credentials of this page over any transport: a token, or a function that returns one. The function is called for
   * each session and before the token expires. They go in the session's greeting, and `authenticate` of the server gets
   * them as `Peer.credentials`. Sessions that `session` makes do not send them. Default: none.
   */
  readonly credentials?: Credentials;
  /**
   * Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. Default: none, the browser's roots are
   * trusted.
   */
  readonly serverCertificateHashes?: readonly CertificateHash[];
  /**
   * Runs the protocol over each transport. Default: `createClientSession`. A page that also serves calls, or
   * compresses, passes `(transport) => createSession(transport, { … })`.
   */
  readonly session?: (transport: BrowserTransport) => Session<BrowserTransport>;
}

/**
 * Connects like `connect`, but only over WebTransport and for a page that only makes calls. Bundles are smaller because
 * they contain neither the fallback nor the code that serves calls.
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
  const strategy: ConnectStrategy<BrowserTransport> = {
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
 * Runs `open` with a signal that fires together with the given one, or after `timeoutMs`. Rejects with the signal's
 * reason in that case, and otherwise with a `TransportError` that states why WebTransport failed.
 */
async function inTime<T>(
  open: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  timeoutMs: number,
  url: string,
): Promise<T> {
  const attempt = new AbortController();
  const abortAttempt = (): void => attempt.abort(signal.reason);
  const timer = setTimeout(
    () => attempt.abort(unreached(url, "ETIMEDOUT", [`no session within ${timeoutMs} ms`], undefined)),
    timeoutMs,
  );
  signal.addEventListener("abort", abortAttempt);
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
    signal.removeEventListener("abort", abortAttempt);
  }
}
