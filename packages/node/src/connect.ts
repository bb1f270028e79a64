import { type Connection, createConnection, interceptCaller, type Session } from "@quicrpc/core";
import {
  checkOptions,
  CONNECTION_OPTIONS,
  type ConnectionOptions,
  errorHook,
  flatOptions,
  type OptionNames,
  publicUrl,
} from "@quicrpc/core/internal";
import type { QuicSession } from "@quicrpc/quic";
import { ConnectStrategy } from "./dial/connect-strategy.js";
import type { DialOnce, FallbackOptions } from "./dial/fallback.js";
import { Route, type TrustedAddresses } from "./dial/route.js";
import {
  type AdvancedDialOptions,
  ADVANCED_DIAL_OPTIONS,
  DIAL_OPTIONS,
  type DialOptions,
  type DialSettings,
  dialSession,
  rejectedAtCaller,
  resolveTarget,
} from "./dial.js";
import { firstSession } from "./first-session.js";
import { isPermanent } from "./permanent.js";
import { trackHandle } from "./active-handles.js";

/** Options of `connect`. `timeoutMs` applies to each attempt, and to all attempts until the first session is ready. */
export interface ConnectOptions<Context = unknown>
  extends Omit<DialOptions<Context>, "advanced">,
    Pick<ConnectionOptions, "reconnect"> {
  /**
   * Another URL of the same server, used if the first URL cannot be reached: on a platform without the native engine,
   * or in a network that blocks UDP. Early data and QUIC's `transport` do not apply to the fallback. Default: none.
   */
  readonly fallback?: FallbackOptions;
  /** Options that few clients set. Default: none. */
  readonly advanced?: AdvancedConnectOptions<Context>;
}

/** Options of `connect` that few clients set. */
export interface AdvancedConnectOptions<Context = unknown>
  extends AdvancedDialOptions<Context>,
    Pick<ConnectionOptions, "backoff"> {
  /**
   * Addresses to which a draining server may redirect this client (`Server.drain({ to })`): a list of URLs, or a
   * predicate. The client sends its credentials to the new address. Redirects to other addresses are ignored and
   * reported to `onError`. Default: none.
   */
  readonly allowedRedirects?: TrustedAddresses;
}

const FALLBACK_OPTIONS: OptionNames<FallbackOptions> = {
  afterMs: true,
  onFallback: true,
  rememberMs: true,
  retry: true,
  url: true,
};
const OPTIONS: OptionNames<ConnectOptions> = {
  ...DIAL_OPTIONS,
  advanced: { ...ADVANCED_DIAL_OPTIONS, allowedRedirects: true, backoff: CONNECTION_OPTIONS.backoff },
  fallback: FALLBACK_OPTIONS,
  reconnect: true,
};

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Connects to a URL such as `quic://host[:port]`, `tls://host[:port]`, `wss://host/path` or `unix:/path`. Resolves when
 * the first session is ready. Creates a new session whenever the current one is lost, unless `reconnect` is false. The
 * server can call the `routers` on each session.
 *
 * Rejects
 * - at once with a `TransportError` if a retry cannot help: an untrusted certificate, another protocol;
 * - at once with the server's `RpcError` if it refuses this client: `unauthenticated`, `permission_denied`;
 * - with the last attempt's error after `timeoutMs`;
 * - with `TypeError` for invalid arguments, such as an unknown option, or two routers with the same service.
 *
 * @example const connection = await connect("quic://orders.example:4433", { credentials: () => token() }); const orders
 * = createOrdersClient(connection);
 */
export function connect<Context = unknown>(
  url: `quic://${string}`,
  options?: ConnectOptions<Context>,
): Promise<Connection<Session<QuicSession>>>;
export function connect<Context = unknown>(url: string | URL, options?: ConnectOptions<Context>): Promise<Connection>;
export async function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<Connection> {
  const note = trackHandle("connection");
  checkOptions("connect()", options, OPTIONS);
  const {
    reconnect,
    backoff,
    fallback,
    allowedRedirects,
    signal,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    interceptors = [],
    ...connectionOptions
  } = flatOptions(options);
  const dialOptions = { timeoutMs, ...connectionOptions };
  const onError = errorHook(options.onError);
  const strategy = new ConnectStrategy({
    preferred: (dialSignal, freshPort) => dialSession(url, { ...dialOptions, signal: dialSignal }, freshPort),
    fallback: fallback && { dial: dialFallback(fallback, dialOptions), options: fallback },
    onError: (error) => onError(error, { method: "fallback.onFallback" }),
  });
  const route = new Route({
    ownUrl: url,
    dial: (dialSignal) => strategy.dial(dialSignal),
    dialTo: (to, dialSignal) => dialSession(to, { ...usableAt(to, url, dialOptions), signal: dialSignal }),
    allowedRedirects,
    onError: (error) => onError(error, { method: "connect" }),
  });
  const peer = URL.canParse(url) ? publicUrl(new URL(url)) : String(url);
  const connection = createConnection((dialSignal, previous?: Session) => route.dial(dialSignal, previous), {
    isPermanent,
    peer,
    ...(reconnect !== undefined && { reconnect }),
    ...(reconnect !== false && {
      improve: (session: Session, dialSignal: AbortSignal) =>
        strategy.improve(session, dialSignal, (redialling) => route.dial(redialling, undefined)),
    }),
    ...(backoff !== undefined && { backoff }),
    ...(dialOptions.limits !== undefined && { limits: dialOptions.limits }),
  });
  try {
    await firstSession(
      (readyOptions) => connection.ready(readyOptions),
      () => peer,
      { ...dialOptions, ...(signal && { signal }) },
      timeoutMs,
    );
  } catch (error) {
    await connection.close();
    return rejectedAtCaller(error, signal);
  }
  void connection.closed.finally(note(String(url)));
  // Wraps the connection instead of each session, because a retry uses another session.
  return interceptCaller(connection, interceptors);
}

/**
 * Returns the connect options to use for another address. Removes QUIC options if the address uses another transport.
 */
function usableAt<Context>(to: string, from: string | URL, options: DialSettings<Context>): DialSettings<Context> {
  if (new URL(to).protocol === new URL(from).protocol) return options;
  const { earlyData: _, transport: __, ...dialOptions } = options;
  return dialOptions;
}

function dialFallback<Context>(fallback: FallbackOptions, options: DialSettings<Context>): DialOnce {
  const { earlyData: _, transport: __, ...dialOptions } = options;
  resolveTarget(fallback.url, dialOptions);
  return (signal) => dialSession(fallback.url, { ...dialOptions, signal });
}
