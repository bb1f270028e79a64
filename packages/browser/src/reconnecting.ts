import {
  type Awaitable,
  type ClientSessionOptions,
  type ConnectionOptions,
  createConnection,
  sessionOn,
} from "@quicrpc/core/internal";
import { type Connection, type Session, TransportError } from "@quicrpc/core";
import { PageLifecycle } from "./page.js";
import type { BrowserTransport, Reached, TransportInUse } from "./transport.js";
import { FORBIDDEN } from "./unreached.js";

/** Default timeout in milliseconds for one attempt, and for all attempts until the first session is ready. */
export const DEFAULT_TIMEOUT_MS = 10_000;

export interface ReconnectingOptions extends Omit<ConnectionOptions, "isPermanent"> {
  /**
   * Timeout in milliseconds for each attempt, and for all attempts until the first session is ready. Default 10,000.
   */
  readonly timeoutMs?: number;
  /** Aborts the attempts to connect. Has no effect once the first session is ready. Default: none. */
  readonly signal?: AbortSignal;
}

/** A connection of a page or worker. It creates a new session whenever the current one is lost. */
export interface BrowserConnection extends Connection<Session<BrowserTransport>> {
  /** Transport of the current session, or of the last one. Undefined before the first session. */
  readonly transport: TransportInUse | undefined;
}

/** Creates the sessions of a page's connection, over one transport or over the best of several. */
export interface PageConnectStrategy<R extends Reached = Reached> {
  /** Transport of the latest session. Undefined before the first session. */
  readonly inUse: TransportInUse | undefined;
  open(signal: AbortSignal, timeoutMs: number): Promise<R>;
  /** Creates a session over a more preferred transport than that of `session`, once that transport works again. */
  improve?(
    run: RunTransport<R>,
    timeoutMs: number,
    session: Session<BrowserTransport>,
    signal: AbortSignal,
  ): Promise<Session<BrowserTransport>>;
  /** Retries a failed transport at once, because the network has changed. */
  retryNow?(): void;
}

export type RunTransport<R extends Reached = Reached> = (reached: R) => Awaitable<Session<BrowserTransport>>;

/**
 * Creates a connection whose transports come from `strategy`. `make` creates a session over each transport. Resolves
 * when the first session is ready.
 */
export async function reconnectingConnection<R extends Reached>(
  strategy: PageConnectStrategy<R>,
  make: RunTransport<R>,
  {
    timeoutMs = DEFAULT_TIMEOUT_MS,
    signal,
    proof,
    ...options
  }: ReconnectingOptions & Pick<ClientSessionOptions, "proof">,
): Promise<BrowserConnection> {
  const run = async (reached: R): Promise<Session<BrowserTransport>> => {
    const session = await sessionOn(reached, make);
    await proof?.proven(session);
    return session;
  };
  const page = new PageLifecycle();
  const dial = async (signal: AbortSignal): Promise<Session<BrowserTransport>> => {
    await page.present();
    return run(await strategy.open(signal, timeoutMs));
  };
  const improve = strategy.improve?.bind(strategy, run, timeoutMs);
  const isPermanent = (error: Error): boolean => error instanceof TransportError && error.code === FORBIDDEN;
  const connection = createConnection(dial, { ...options, isPermanent, ...(improve !== undefined && { improve }) });
  page.watch(connection, () => strategy.retryNow?.());
  try {
    await connection.ready({ signal, timeoutMs });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return Object.defineProperty(connection, "transport", { get: () => strategy.inUse }) as BrowserConnection;
}

/**
 * Returns an absolute URL. `url` may be relative to the page's URL. Throws `TypeError` for a scheme that is not in
 * `schemes`.
 */
export function pageUrl(url: string | URL, schemes = "https://"): URL {
  const target = new URL(url, globalThis.location?.href);
  // No transport takes a fragment.
  target.hash = "";
  const scheme = `${target.protocol}//`;
  if (` ${schemes}`.includes(` ${scheme}`)) return target;
  throw new TypeError(`connect takes a URL that begins with ${schemes}, not ${scheme}`);
}
