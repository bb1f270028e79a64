import { closeSync } from "node:fs";
import { addressOf, type GroupMember, portOf } from "./bind-options.js";
import { loadNative, unwrap } from "./native.js";

/** Options of `PortGroup.bind`. */
export interface PortGroupOptions {
  /** An IP address or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" where IPv6 is unavailable. */
  host?: string;
  /** UDP port. Default 0: any free one. */
  port?: number;
  /** The number of places, from 1 to 128: one for each worker. */
  places: number;
}

/**
 * One UDP port with a socket for each of several workers. The kernel hands each packet to the worker that made its connection
 * id, wherever the client is by then, and spreads new clients over the places. The sockets stay open, and keep what waits in
 * them, when a worker ends: the next one takes the same place. Linux only.
 */
export class PortGroup {
  readonly port: number;
  readonly members: readonly GroupMember[];
  #open = true;

  private constructor(port: number, descriptors: readonly number[]) {
    this.port = port;
    this.members = descriptors.map((descriptor, place) => ({ descriptor, place }));
  }

  /**
   * Binds the sockets. Throws `QuicError` with the system's code, such as `EADDRINUSE`, and `ERR_QUIC_INVALID_OPTION` where the
   * system has no such groups.
   */
  static bind({ host, port, places }: PortGroupOptions): PortGroup {
    const bound = loadNative().bindGroup(new TextEncoder().encode(addressOf(host)), portOf(port), places);
    const [found = 0, ...descriptors] = unwrap(bound).split(" ").map(Number);
    return new PortGroup(found, descriptors);
  }

  /** Has new clients go to these places alone, such as while a worker drains. Sessions stay where they are. */
  accept(places: readonly number[]): void {
    const [first] = this.members;
    if (first === undefined || !this.#open) return;
    unwrap(loadNative().steerGroup(first.descriptor, this.members.length, Uint8Array.from(places)));
  }

  /** Closes this process's sockets. Workers that have theirs go on. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const { descriptor } of this.members) closeSync(descriptor);
  }
}
