import type { Session, SessionOptions } from "@quicrpc/core";
import { createClientSession, type Credentials, flatOptions, withCredentials } from "@quicrpc/core/internal";
import { type AdvancedDialOptions, type DialOptions, type FallbackOptions, candidatesFor } from "./dial.js";
import { type BrowserConnection, reconnectingConnection, type ReconnectingOptions } from "./reconnecting.js";
import { Memory } from "./memory.js";
import { PageFallback } from "./page-fallback.js";
import { type BrowserTransport, carriesCalls, type Reached } from "./transport.js";
import { usualVia } from "./policy.js";

/**
 * Default time in milliseconds for which new sessions use the fallback at once after the first transport has failed.
 */
const DEFAULT_REMEMBER_MS = 600_000;

/** Options of `connect`. */
export interface ConnectOptions<Context = unknown>
  extends Omit<DialOptions<Context>, "advanced" | "timeoutMs" | "signal">,
    Pick<ReconnectingOptions, "reconnect" | "signal" | "timeoutMs"> {
  /** Options that few pages set. Default: none. */
  readonly advanced?: AdvancedConnectOptions<Context>;
}

/** Options of `connect` that few pages set. */
export interface AdvancedConnectOptions<Context = unknown>
  extends AdvancedDialOptions<Context>,
    Pick<ReconnectingOptions, "backoff"> {}

/**
 * Connects to `https://host:port/path`: over the browser's own WebTransport or, if that does not work, over a WebSocket
 * on the same host and port. A URL that begins with `wss://` or `ws://` always uses a WebSocket. Resolves when the
 * first session is ready. Creates a new session whenever the current one is lost, unless `reconnect` is false.
 *
 * Rejects with a `TransportError` that describes the failure of each transport when `timeoutMs` is over, and with
 * `TypeError` for a URL of another scheme.
 *
 * @example
 * const connection = await connect("https://orders.example:4433/rpc");
 * const orders = createOrdersClient(connection);
 */
export async function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  const settings = flatOptions(options);
  const { retry, rememberMs = DEFAULT_REMEMBER_MS }: FallbackOptions = options.fallback || {};
  const candidates = candidatesFor(url, settings);
  const named = { peer: candidates.url, ...usualVia(), ...settings };
  const strategy = new PageFallback({ ...candidates, retry, memory: new Memory(new URL(candidates.url), rememberMs) });
  return reconnectingConnection(strategy, async (reached) => run(reached, named), named);
}

/** Names of options that require more code than a session that only makes MessagePack calls. */
const NEED_MORE = [
  "routers",
  "loadShedder",
  "codec",
  "codecs",
  "compression",
  "onForeignStream",
  "onForeignDatagram",
] as const;

/**
 * Creates a session over a transport. The code for a page that only makes MessagePack calls over WebTransport is
 * already loaded; other code is loaded when it is needed. A client that carries calls without a session is returned as
 * a session.
 */
async function run<Context>(
  reached: Reached,
  options: Omit<SessionOptions<Context>, "credentials"> & { readonly credentials?: Credentials },
): Promise<Session<BrowserTransport>> {
  if (carriesCalls(reached)) return (await import("./loaded-later.js")).createCallerSession(reached);
  const sessionOptions = await withCredentials(options);
  const isMore = NEED_MORE.some((name) => sessionOptions[name] !== undefined);
  // A direct session is one over a WebSocket.
  if (!isMore && !("openStream" in reached)) return createClientSession(reached, sessionOptions);
  const { createSession } = await import("./loaded-later.js");
  return createSession(reached, sessionOptions);
}
