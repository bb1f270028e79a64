import { channel } from "node:diagnostics_channel";
import { sanitizeForLog } from "@quicrpc/core";
import { isDebugged } from "./debug.js";

/** A client that did not get a session from a server of this process, and the reason. */
export interface Refusal {
  /**
   * Stage at which it was refused: the connection, the TLS handshake, the HTTP request, or the session
   * (`authenticate`).
   */
  readonly stage: "connection" | "handshake" | "request" | "session";
  /** URL of the listener, if known. */
  readonly listener: string | undefined;
  /** Address of the client, if known. */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Reason as a sentence for a log. */
  readonly reason: string;
  /** The exception, if there was one. */
  readonly error?: unknown;
}

/** Channel of `node:diagnostics_channel` that receives each `Refusal`. */
const CHANNEL = "quicrpc:refused";

const refused = channel(CHANNEL);
const debugging = isDebugged("refused");

/**
 * Publishes a refusal on the channel, and on stderr with `QUICRPC_DEBUG=refused`. Without listeners, `refusal` is not
 * called.
 */
export function reportRefusal(refusal: () => Refusal): void {
  if (!debugging && !refused.hasSubscribers) return;
  const reported = refusal();
  refused.publish(reported);
  if (!debugging) return;
  const { stage, listener = "a listener", remoteAddress, reason } = reported;
  const who = remoteAddress === undefined ? "a client" : `${remoteAddress.host} port ${remoteAddress.port}`;
  process.stderr.write(`quicrpc: ${listener} refused the ${stage} of ${who}: ${sanitizeForLog(reason)}\n`);
}
