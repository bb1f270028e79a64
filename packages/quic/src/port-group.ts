import { closeSync } from "node:fs";
import { addressOf, type GroupMember, portOf } from "./bind-options.js";
import { type ConnectionIdOptions, packConnectionIds } from "./connection-ids.js";
import { QuicError } from "./errors.js";
import { loadNative, unwrap } from "./native.js";

/** Options of `PortGroup.bind`. */
export interface PortGroupOptions {
  /** An IP address or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" where IPv6 is unavailable. */
  host?: string;
  /** UDP port. Default 0: any free one. */
  port?: number;
  /** The number of places, from 1 to 128: one for each worker. */
  places: number;
  /** As of each endpoint that takes one of the places: the kernel finds a place in ids of this form. */
  connectionIds?: ConnectionIdOptions;
}

/** Options of `PortGroup.inherit`. */
export interface InheritedPortOptions {
  /** The sockets that were passed to this process, all of one address, in the order in which they were bound. Each is a place. */
  descriptors: readonly number[];
  /** The number of places to take: the first that no other process has. Default 1. */
  places?: number;
  /** As of each endpoint that takes one of the places, in every process that has the port. */
  connectionIds?: ConnectionIdOptions;
}

/** A group of sockets on one port. */
interface Group {
  readonly port: number;
  readonly members: readonly GroupMember[];
  /** Every socket of the port, by its place. */
  readonly descriptors: readonly number[];
  readonly ids: Uint8Array;
  readonly inherited: boolean;
}

/** Sockets whose places this process has: the system tells processes apart, and not groups of one process. */
const taken: Set<number> = new Set();

/**
 * One UDP port with a socket for each of several workers. The kernel hands each packet to the worker that made its connection
 * id, wherever the client is by then, and spreads new clients over the places. The sockets stay open, and keep what waits in
 * them, when a worker ends: the next one takes the same place. Linux only.
 */
export class PortGroup {
  readonly port: number;
  /** The places of this process. */
  readonly members: readonly GroupMember[];
  readonly #group: Group;
  #open = true;

  private constructor(group: Group) {
    this.#group = group;
    this.port = group.port;
    this.members = group.members;
  }

  /**
   * Binds the sockets. Throws `QuicError` with the system's code, such as `EADDRINUSE`, and `ERR_QUIC_INVALID_OPTION` where the
   * system has no such groups.
   */
  static bind({ host, port, places, connectionIds }: PortGroupOptions): PortGroup {
    const ids = packConnectionIds(connectionIds);
    const bound = loadNative().bindGroup(new TextEncoder().encode(addressOf(host)), portOf(port), places, ids);
    const [found = 0, ...descriptors] = unwrap(bound).split(" ").map(Number);
    const members = descriptors.map((descriptor, place) => ({ descriptor, place }));
    return new PortGroup({ port: found, members, descriptors, ids, inherited: false });
  }

  /**
   * Takes places of a port whose sockets another process has bound and passed on, as systemd does: two processes share it while the one
   * follows the other. New clients go where they went before until `accept` is called. Throws `QuicError`: `EADDRINUSE` where
   * other processes have so many places that too few are left.
   */
  static inherit({ descriptors, places = 1, connectionIds }: InheritedPortOptions): PortGroup {
    const ids = packConnectionIds(connectionIds);
    if (descriptors.some((descriptor) => taken.has(descriptor))) {
      const message = "this process has a place of the port already";
      throw new QuicError({ source: "system", code: "EADDRINUSE", message });
    }
    const [port = 0, ...claimed] = unwrap(loadNative().claimPlaces([...descriptors], places))
      .split(" ")
      .map(Number);
    const members = claimed.map((place) => ({ descriptor: descriptors[place] as number, place }));
    for (const { descriptor } of members) taken.add(descriptor);
    return new PortGroup({ port, members, descriptors, ids, inherited: true });
  }

  /**
   * Has new clients go to these places alone, such as while a worker drains. Sessions stay where they are; where the sockets were
   * inherited, those of processes that are gone are ended.
   */
  accept(places: readonly number[] = this.members.map(({ place }) => place)): void {
    if (!this.#open) return;
    const { descriptors, inherited, ids } = this.#group;
    const own = inherited ? this.members.map(({ place }) => place) : [];
    unwrap(loadNative().steerGroup([...descriptors], Uint8Array.from(places), Uint8Array.from(own), ids));
  }

  /** Closes this process's sockets; those that it was passed stay open, and others may take the places. Workers that have theirs go on. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const { descriptor } of this.members) {
      if (!this.#group.inherited) closeSync(descriptor);
      else if (taken.delete(descriptor)) loadNative().unclaimPlace(descriptor);
    }
  }
}
