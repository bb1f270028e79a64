import { channel } from "node:diagnostics_channel";
import { printable } from "@quicrpc/core";
import { isDebugged } from "./debug.js";

/** A client that did not get a session from a server of this process, and why. */
export interface Refusal {
  /** The stage it had reached: a connection, the TLS handshake, the HTTP request, or the session that `authenticate` decides about. */
  readonly stage: "connection" | "handshake" | "request" | "session";
  /** The URL of the listener, where that is known. */
  readonly listener: string | undefined;
  /** The client's address, where that is known. */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Why, as a sentence for a log. */
  readonly reason: string;
  /** The exception, where there was one. */
  readonly error?: unknown;
}

/** The name of the channel of `node:diagnostics_channel` that gets each `Refusal`. */
const CHANNEL = "quicrpc:refused";

const refused = channel(CHANNEL);
const debugging = isDebugged("refused");

/** Tells those who listen for refusals, and with `QUICRPC_DEBUG=refused` stderr. Costs nothing where nobody does. */
export function tellRefusal(refusal: () => Refusal): void {
  if (!debugging && !refused.hasSubscribers) return;
  const told = refusal();
  refused.publish(told);
  if (!debugging) return;
  const { stage, listener = "a listener", remoteAddress, reason } = told;
  const who = remoteAddress === undefined ? "a client" : `${remoteAddress.host} port ${remoteAddress.port}`;
  process.stderr.write(`quicrpc: ${listener} refused the ${stage} of ${who}: ${printable(reason)}\n`);
}
