import { type Connection, type ConnectionOptions, createConnection, type Session } from "@quicrpc/core";
import { PageLife } from "./page.js";
import type { BrowserTransport, OpenTransport, TransportInUse } from "./transport.js";

/** For an attempt, and for all of them until the first session is ready. */
export const DEFAULT_TIMEOUT_MS = 10_000;

/** How a page connects, whatever the transport. */
export interface HealingOptions extends Omit<ConnectionOptions, "isPermanent"> {
  /** Milliseconds for each attempt, and for all that is tried until the first session is ready. Default 10,000. */
  readonly timeoutMs?: number;
  /** Gives up connecting; without effect once the first session is ready. */
  readonly signal?: AbortSignal;
}

/** A connection of a page or worker, healing. */
export interface BrowserConnection extends Connection<Session<BrowserTransport>> {
  /** What the present session runs over, or the last one did; undefined before the first. */
  readonly transport: TransportInUse | undefined;
}

/**
 * A connection over the transports that `open` opens, within so many milliseconds, and the sessions that `run` makes of them.
 * Resolves when the first is ready.
 */
export async function heal(
  open: (signal: AbortSignal, timeoutMs: number) => Promise<OpenTransport>,
  run: (transport: BrowserTransport) => Session<BrowserTransport>,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal, ...options }: HealingOptions,
): Promise<BrowserConnection> {
  let inUse: TransportInUse | undefined;
  const page = new PageLife();
  const connection = createConnection(async (signal) => {
    await page.present();
    const { transport, kind, reason } = await open(signal, timeoutMs);
    inUse = { kind, reason };
    return run(transport);
  }, options);
  page.follow(connection);
  try {
    await connection.ready({ signal, timeoutMs });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return Object.defineProperty(connection, "transport", { get: () => inUse }) as BrowserConnection;
}

/** `url`, which may be relative to the page's. Throws `TypeError` for one of another scheme. */
export function httpsUrl(url: string | URL): URL {
  const target = new URL(url, globalThis.location?.href);
  // Neither transport takes a fragment.
  target.hash = "";
  if (target.protocol === "https:") return target;
  throw new TypeError(`connect takes a URL that begins with https://, not ${target.protocol}//`);
}
