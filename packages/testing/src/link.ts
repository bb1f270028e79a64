import { isIPv6 } from "node:net";
import type { OptionNames } from "@quicrpc/core/internal";
import { type Conditions, FAIR } from "./conditions.js";

/** Options of a link. */
export interface LinkOptions {
  /** Port of the server, and its address if that is not 127.0.0.1. */
  readonly target: number | { readonly host?: string; readonly port: number };
  /** Address and port at which clients reach the link. Default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** Seed of the random numbers. The same seed loses the same packets. Default: 1. */
  readonly seed?: number;
  /** Initial state of the network. Default: no delay, loss or limit. */
  readonly conditions?: Partial<Conditions>;
}

export const LINK_OPTIONS: OptionNames<LinkOptions> = {
  conditions: FAIR,
  listen: { host: true, port: true },
  seed: true,
  target: { host: true, port: true },
};

/** A simulated network in front of one port of a server. */
export interface Link {
  readonly port: number;
  /** Current conditions of the network. Assigning some conditions resets the others to `FAIR`. */
  get conditions(): Conditions;
  set conditions(conditions: Partial<Conditions>);
  /**
   * Simulates a change of the client's address. With UDP, packets arrive from another address from now on. With TCP,
   * all connections are reset.
   */
  move(): void;
  close(): void;
}

/** Maximum number of concurrent clients. With UDP, a further client replaces the oldest; with TCP, it waits. */
export const MAX_CLIENTS = 1024;
/** Maximum number of packets that are delayed at the same time. Further packets are lost. */
export const MAX_DELAYED = 10_000;
const LOOPBACK = "127.0.0.1";

export function linkTargetOf({ target }: LinkOptions): { readonly host: string; readonly port: number } {
  return typeof target === "number" ? { host: LOOPBACK, port: target } : { host: LOOPBACK, ...target };
}

export function listenOf({ listen }: LinkOptions): { readonly host: string; readonly port: number } {
  return { host: LOOPBACK, port: 0, ...listen };
}

export function socketType(host: string): "udp4" | "udp6" {
  return isIPv6(host) ? "udp6" : "udp4";
}

/**
 * Returns the bytes with one bit flipped at the relative position `where` (0 to 1), or unchanged if it is undefined.
 */
export function damaged(bytes: Buffer, where: number | undefined): Buffer {
  if (where === undefined) return bytes;
  const copy = Buffer.from(bytes);
  const at = Math.floor(where * bytes.length);
  copy[at] = (copy[at] as number) ^ 0x10;
  return copy;
}
