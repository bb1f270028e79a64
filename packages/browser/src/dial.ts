import type { Backoff } from "@quicrpc/core/transport";
import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { DEFAULT_TIMEOUT_MS, httpsUrl } from "./heal.js";
import { type OpenOptions, openTransport } from "./open.js";
import type { BrowserTransport, CertificateHash } from "./transport.js";
import { webSocketOpener } from "./web-socket.js";
import { webTransportOpener } from "./web-transport.js";

/** Milliseconds for which WebTransport is tried alone. */
export const DEFAULT_FALLBACK_MS = 1500;

/** When a WebSocket takes WebTransport's place. */
export interface FallbackOptions {
  /** Default: `wss:`, with the same host, port and path. */
  readonly url?: string | URL;
  /** Milliseconds without an answer by WebTransport after which the WebSocket is tried as well. Default 1500. */
  readonly afterMs?: number;
  /**
   * When `connect` tries WebTransport again while a WebSocket is in use: first after some 5 s, then after twice as long each
   * time, up to 5 minutes, and when the network is back. New calls go to it once it has answered; those in progress finish
   * on the WebSocket. `false`: not before the WebSocket is lost.
   */
  readonly retry?: Partial<Backoff> | false;
}

/** How a page finds its server. */
export interface ReachOptions {
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly CertificateHash[] | undefined;
  /**
   * The WebSocket that is used where WebTransport is missing, refused or does not answer; `false` for none. Browsers trust
   * no hash of a certificate there: theirs must be one that the browser trusts by itself.
   */
  readonly fallback?: FallbackOptions | false | undefined;
}

/** Options of `dial`. */
export interface DialOptions<Context = unknown> extends SessionOptions<Context>, ReachOptions {
  /** Milliseconds for all that is tried. Default 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Makes one session, as `connect` does, that does not heal: for `createPool` of core, say. Rejects with an `RpcError`
 * (`unavailable`) that says what became of each transport, and with `TypeError` for a URL of another scheme.
 */
export async function dial<Context = unknown>(
  url: string | URL,
  options: DialOptions<Context> = {},
): Promise<Session<BrowserTransport>> {
  const { serverCertificateHashes, fallback, timeoutMs = DEFAULT_TIMEOUT_MS, signal, ...session } = options;
  const opening = openers(url, { serverCertificateHashes, fallback });
  const { transport } = await openTransport({ ...opening, timeoutMs, signal: signal ?? new AbortController().signal });
  return createSession(transport, session);
}

/** What opens the transports to `url`. */
export function openers(
  url: string | URL,
  { serverCertificateHashes, fallback = {} }: ReachOptions,
): Pick<OpenOptions, "first" | "fallback"> {
  const target = httpsUrl(url);
  const first = { kind: "webtransport", open: webTransportOpener(target, serverCertificateHashes) } as const;
  if (fallback === false) return { first, fallback: undefined };
  const socketUrl = new URL(fallback.url ?? target);
  if (fallback.url === undefined) socketUrl.protocol = "wss:";
  const { afterMs = DEFAULT_FALLBACK_MS } = fallback;
  return { first, fallback: { kind: "websocket", open: webSocketOpener(socketUrl), afterMs } };
}
