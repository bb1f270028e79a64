import { isIPv6 } from "node:net";
import type { OptionNames } from "@quicrpc/core/transport";
import { type Conditions, FAIR } from "./conditions.js";

/** Where a link leads, and by which network. */
export interface LinkOptions {
  /** The port of the server; its address, where that is not 127.0.0.1. */
  readonly target: number | { readonly host?: string; readonly port: number };
  /** Where clients reach the link. Default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** The same seed loses the same packets. Default 1. */
  readonly seed?: number;
  /** How the network is at first. Default: fair. */
  readonly conditions?: Partial<Conditions>;
}

/** Names of the options of a link. */
export const LINK_OPTIONS: OptionNames<LinkOptions> = {
  conditions: FAIR,
  listen: { host: true, port: true },
  seed: true,
  target: { host: true, port: true },
};

/** The way to one port of a server: packets that clients send to its port arrive at the server's, or do not, as its conditions say. */
export interface Link {
  readonly port: number;
  /** State of its network, which may change at any time; what is set need not be complete, and what is left out is fair. */
  get conditions(): Conditions;
  set conditions(conditions: Partial<Conditions>);
  /** Packets arrive from another address from now on (UDP), or connections are cut with a reset (TCP). */
  move(): void;
  close(): void;
}

/** Clients of one link at once: further ones take the place of the first (UDP), or wait (TCP). */
export const MAX_CLIENTS = 1024;
/** Packets on their way to arrive later; more are lost. */
export const MAX_DELAYED = 10_000;
/** The address of a target or listener that names none. */
const LOOPBACK = "127.0.0.1";

/** The target's address. */
export function targetOf({ target }: LinkOptions): { readonly host: string; readonly port: number } {
  return typeof target === "number" ? { host: LOOPBACK, port: target } : { host: LOOPBACK, ...target };
}

/** Where a link listens. */
export function listenOf({ listen }: LinkOptions): { readonly host: string; readonly port: number } {
  return { host: LOOPBACK, port: 0, ...listen };
}

/** The kind of a UDP socket for an address. */
export function socketType(host: string): "udp4" | "udp6" {
  return isIPv6(host) ? "udp6" : "udp4";
}

/** Returns the same bytes with one bit turned over, at `where` of 0 to 1; as they are where that is undefined. */
export function damaged(bytes: Buffer, where: number | undefined): Buffer {
  if (where === undefined) return bytes;
  const copy = Buffer.from(bytes);
  const at = Math.floor(where * bytes.length);
  copy[at] = (copy[at] as number) ^ 0x10;
  return copy;
}
