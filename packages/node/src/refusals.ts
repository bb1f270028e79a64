import { channel } from "node:diagnostics_channel";
import { sanitizeForLog } from "@quicrpc/core";
import { isDebugged } from "./debug.js";

/** A client that was refused by a server of this process, with the reason. */
export interface Refusal {
  /**
   * Stage at which the client was refused: the connection, the TLS handshake, the HTTP request, or the session
   * (`authenticate`).
   */
  readonly stage: "connection" | "handshake" | "request" | "session";
  /** URL of the listener. Undefined if unknown. */
  readonly listener: string | undefined;
  /** Address of the client. Undefined if unknown. */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Reason as a sentence for logs. */
  readonly reason: string;
  /** Exception that caused the refusal. Undefined if there was none. */
  readonly error?: unknown;
}

/** Name of the `node:diagnostics_channel` that receives each `Refusal`. */
const CHANNEL = "quicrpc:refused";

const refused = channel(CHANNEL);
const debugging = isDebugged("refused");

/**
 * Publishes a refusal on the diagnostics channel, and prints it on stderr if `QUICRPC_DEBUG` contains "refused". Does
 * not call `refusal` if neither is in use.
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
