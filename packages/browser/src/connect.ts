import { createSession } from "@quicrpc/core";
import { type DialOptions, openers } from "./dial.js";
import { type BrowserConnection, heal, type HealingOptions } from "./heal.js";
import { Ladder } from "./ladder.js";

/** Options of `connect`. */
export interface ConnectOptions<Context = unknown>
  extends Omit<DialOptions<Context>, "timeoutMs" | "signal">,
    Omit<HealingOptions, "limits"> {}

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
  const { fallback } = options;
  const retry = fallback === false ? undefined : fallback?.retry;
  const ladder = new Ladder({ ...openers(url, options), retry });
  return heal(ladder, (transport) => createSession(transport, options), options);
}
