import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  createSession,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { type Fallback, openTransport } from "./open.js";
import { PageLife } from "./page.js";
import type { BrowserTransport, TransportInUse } from "./transport.js";
import { webSocketOpener } from "./web-socket.js";
import { webTransportOpener } from "./web-transport.js";

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_FALLBACK_MS = 1500;

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions<Context = unknown>
  extends SessionOptions<Context>,
    Omit<ConnectionOptions, "limits" | "isPermanent"> {
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly WebTransportHash[];
  /** Milliseconds for each attempt, and for all that is tried until the first session is ready. Default 10,000. */
  readonly timeoutMs?: number;
  /** Gives up connecting; without effect once the first session is ready. */
  readonly signal?: AbortSignal;
}

/** When a WebSocket takes WebTransport's place. */
export interface FallbackOptions {
  /** Default: `wss:`, with the same host, port and path. */
  readonly url?: string | URL;
  /** Milliseconds without an answer by WebTransport after which the WebSocket is tried as well. Default 1500. */
  readonly afterMs?: number;
}

/** Options of `connect`. */
export interface ConnectOptions<Context = unknown> extends WebTransportConnectOptions<Context> {
  /**
   * The WebSocket that is used where WebTransport is missing, refused or does not answer; `false` for none. Browsers trust
   * no hash of a certificate there: theirs must be one that the browser trusts by itself.
   */
  readonly fallback?: FallbackOptions | false;
}

/** A connection of a page or worker, healing. */
export interface BrowserConnection extends Connection<Session<BrowserTransport>> {
  /** What the present session runs over, or the last one did; undefined before the first. */
  readonly transport: TransportInUse | undefined;
}

/**
 * Connects to `https://host:port/path`: over the browser's own WebTransport, or over a WebSocket on the same host and port
 * where that does not work. Resolves when the first session is ready, and makes another whenever one is lost, unless
 * `reconnect` is false. Rejects with an `RpcError` (`unavailable`) that says what became of each transport when
 * `timeoutMs` is over, and with `TypeError` for a URL of another scheme.
 */
export function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  const { fallback = {}, ...own } = options;
  return connectOver(url, own, (target) => {
    if (fallback === false) return undefined;
    const socketUrl = new URL(fallback.url ?? target);
    if (fallback.url === undefined) socketUrl.protocol = "wss:";
    return { open: webSocketOpener(socketUrl), afterMs: fallback.afterMs ?? DEFAULT_FALLBACK_MS };
  });
}

/** As `connect`, without a fallback: what is needed for one stays out of the bundle. */
export function connectWebTransport<Context = unknown>(
  url: string | URL,
  options: WebTransportConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  return connectOver(url, options, () => undefined);
}

async function connectOver<Context>(
  url: string | URL,
  options: WebTransportConnectOptions<Context>,
  fallbackFor: (target: URL) => Fallback | undefined,
): Promise<BrowserConnection> {
  const { serverCertificateHashes, timeoutMs = DEFAULT_TIMEOUT_MS, signal, reconnect, backoff, ...session } = options;
  const target = httpsUrl(url);
  const opening = {
    webTransport: webTransportOpener(target, serverCertificateHashes),
    fallback: fallbackFor(target),
    timeoutMs,
  };
  let inUse: TransportInUse | undefined;
  const page = new PageLife();
  const dial = async (signal: AbortSignal): Promise<Session<BrowserTransport>> => {
    await page.present();
    const { transport, kind, reason } = await openTransport({ ...opening, signal });
    inUse = { kind, reason };
    return createSession(transport, session);
  };
  const connection = createConnection(dial, {
    ...(reconnect !== undefined && { reconnect }),
    ...(backoff !== undefined && { backoff }),
    ...(session.limits !== undefined && { limits: session.limits }),
  });
  page.follow(connection);
  try {
    await connection.ready({ signal, timeoutMs });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return Object.defineProperty(connection, "transport", { get: () => inUse }) as BrowserConnection;
}

function httpsUrl(url: string | URL): URL {
  const target = new URL(url, globalThis.location?.href);
  // Neither transport takes a fragment.
  target.hash = "";
  if (target.protocol === "https:") return target;
  throw new TypeError(`connect takes a URL that begins with https://, not ${target.protocol}//`);
}
