import {
  type ClientSessionOptions,
  createClientSession,
  type Credentials,
  publicUrl,
  withCredentials,
} from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import { type BrowserConnection, heal, type HealingOptions, pageUrl, type Way } from "./heal.js";
import { inTime } from "./in-time.js";
import type { BrowserTransport, CertificateHash, TransportInUse } from "./transport.js";
import { usualVia } from "./usual-via.js";
import { ifAllowed } from "./policy.js";
import { webTransportProvider } from "./web-transport.js";

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions
  extends Omit<ClientSessionOptions, "credentials" | "renewCredentials">,
    Omit<HealingOptions, "limits"> {
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
   * Runs the protocol over each transport. Default: `createClientSession`. A page that serves calls too, or compresses, has
   * `(transport) => createSession(transport, { … })`.
   */
  readonly session?: (transport: BrowserTransport) => Session<BrowserTransport>;
}

/**
 * As `connect`, over WebTransport alone and for a page that only calls. What it does without stays out of the bundle: the
 * fallback, and the serving of calls.
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
  const way: Way<BrowserTransport> = {
    get inUse() {
      return inUse;
    },
    async open(signal, timeoutMs) {
      const transport = await inTime(open, signal, timeoutMs, publicUrl(target));
      inUse = { kind: "webtransport", reason: undefined };
      return transport;
    },
  };
  return heal(way, run, named);
}
