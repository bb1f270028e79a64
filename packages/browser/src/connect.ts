import { createSession, type SessionOptions } from "@quicrpc/core";
import { type BrowserConnection, heal, type HealingOptions, httpsUrl } from "./heal.js";
import { type Fallback, openTransport } from "./open.js";
import { webSocketOpener } from "./web-socket.js";
import { webTransportOpener } from "./web-transport.js";

const DEFAULT_FALLBACK_MS = 1500;

/** When a WebSocket takes WebTransport's place. */
export interface FallbackOptions {
  /** Default: `wss:`, with the same host, port and path. */
  readonly url?: string | URL;
  /** Milliseconds without an answer by WebTransport after which the WebSocket is tried as well. Default 1500. */
  readonly afterMs?: number;
}

/** Options of `connect`. */
export interface ConnectOptions<Context = unknown> extends SessionOptions<Context>, Omit<HealingOptions, "limits"> {
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly WebTransportHash[];
  /**
   * The WebSocket that is used where WebTransport is missing, refused or does not answer; `false` for none. Browsers trust
   * no hash of a certificate there: theirs must be one that the browser trusts by itself.
   */
  readonly fallback?: FallbackOptions | false;
}

/**
 * Connects to `https://host:port/path`: over the browser's own WebTransport, or over a WebSocket on the same host and port
 * where that does not work. Resolves when the first session is ready, and makes another whenever one is lost, unless
 * `reconnect` is false. Rejects with an `RpcError` (`unavailable`) that says what became of each transport when
 * `timeoutMs` is over, and with `TypeError` for a URL of another scheme.
 */
export async function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  const { fallback = {}, serverCertificateHashes, reconnect, backoff, timeoutMs, signal, ...session } = options;
  const target = httpsUrl(url);
  const opening = {
    webTransport: webTransportOpener(target, serverCertificateHashes),
    fallback: fallback === false ? undefined : webSocket(target, fallback),
  };
  return heal(
    (signal, timeoutMs) => openTransport({ ...opening, timeoutMs, signal }),
    (transport) => createSession(transport, session),
    {
      ...(reconnect !== undefined && { reconnect }),
      ...(backoff !== undefined && { backoff }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(signal !== undefined && { signal }),
      ...(session.limits !== undefined && { limits: session.limits }),
    },
  );
}

function webSocket(target: URL, { url, afterMs = DEFAULT_FALLBACK_MS }: FallbackOptions): Fallback {
  const socketUrl = new URL(url ?? target);
  if (url === undefined) socketUrl.protocol = "wss:";
  return { open: webSocketOpener(socketUrl), afterMs };
}
