import { randomBytes } from "node:crypto";
import { closeSync } from "node:fs";
import { addressOf, flagOf, type GroupMember, portOf, type SteeredMember } from "./bind-options.js";
import { type ConnectionIdOptions, packConnectionIds } from "./connection-ids.js";
import { invalidOption, QuicError } from "./errors.js";
import { loadNative, unwrap } from "./native.js";
import { checkOptions, INHERITED_PORT_OPTIONS, PORT_GROUP_OPTIONS } from "./option-names.js";

/** Options of `PortGroup.bind`. */
export interface PortGroupOptions {
  /** An IP address or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" where IPv6 is unavailable. */
  host?: string;
  /** UDP port. Default 0: any free one. */
  port?: number;
  /** The number of places, from 1 to 128: one for each worker. */
  places: number;
  /** Connection ids of each endpoint that takes one of the places: a place is found in ids of this form. Default: as the engine likes. */
  connectionIds?: ConnectionIdOptions;
  /**
   * Part that hands packets to the workers: the kernel, or this process over sockets of the loopback interface, which costs more and works on
   * every system. Default, or what QUICRPC_STEERING says: "kernel" on Linux, "relay" elsewhere.
   */
  steering?: "kernel" | "relay";
}

/** Options of `PortGroup.inherit`. */
export interface InheritedPortOptions {
  /** The sockets that were passed to this process, all of one address, in the order in which they were bound. Each is a place. */
  descriptors: readonly number[];
  /** The number of places to take: the first that no other process has. Default 1. */
  places?: number;
  /** Connection ids of each endpoint that takes one of the places, in every process that has the port. Default: as the engine likes. */
  connectionIds?: ConnectionIdOptions;
}

/** Hands the packets of a port to its places. */
interface Steering {
  accept(places: Uint8Array, empty: Uint8Array): void;
  close(): void;
}

const TOKEN_BYTES = 16;

/** Sockets whose places this process has: the system tells processes apart, and not groups of one process. */
const taken: Set<number> = new Set();

/**
 * One UDP port for several workers. Each packet goes to the worker that made its connection id, wherever the client is by then, and new
 * clients are spread over the places. On Linux the kernel does that: each place has a socket, which stays open, and keeps what waits in
 * it, when a worker ends, for the next one that takes the place. Elsewhere this process has the port, and hands packets to the
 * workers and back.
 */
export class PortGroup {
  readonly port: number;
  /** The places of this process, each for a worker's `Endpoint.bind({ member })`. */
  readonly members: readonly GroupMember[];
  readonly #steering: Steering;
  #open = true;

  private constructor(port: number, members: readonly GroupMember[], steering: Steering) {
    this.port = port;
    this.members = members;
    this.#steering = steering;
  }

  /** Binds the port. Throws `QuicError` with the system's code, such as `EADDRINUSE`, and `ERR_QUIC_INVALID_OPTION` where the kernel shall steer and cannot. */
  static bind(options: PortGroupOptions): PortGroup {
    checkOptions("PortGroup.bind()", options, PORT_GROUP_OPTIONS);
    const { host, port, places, connectionIds, steering } = options;
    const ids = packConnectionIds(connectionIds);
    const native = loadNative();
    const address = new TextEncoder().encode(addressOf(host));
    if (chooseSteering(steering) === "relay") {
      const token = randomBytes(TOKEN_BYTES);
      const bound = unwrap(native.bindRelay(address, portOf(port), flagOf("QUICRPC_OFFLOAD"), places, token, ids));
      const [relay = 0, found = 0, channel = 0] = bound.split(" ").map(Number);
      const members = Array.from({ length: places }, (_, place) => ({
        place,
        relay: { port: channel, token: token.toString("hex") },
      }));
      return new PortGroup(found, members, {
        accept: (accepting, empty) => unwrap(native.steerRelay(relay, accepting, empty)),
        close: () => native.closeRelay(relay),
      });
    }
    const [found = 0, ...descriptors] = unwrap(native.bindGroup(address, portOf(port), places, ids))
      .split(" ")
      .map(Number);
    const members = descriptors.map((descriptor, place) => ({ descriptor, place }));
    return new PortGroup(found, members, {
      accept: (accepting, empty) =>
        void unwrap(native.steerGroup(descriptors, accepting, empty, new Uint8Array(0), 0, ids)),
      close: () => {
        for (const descriptor of descriptors) closeSync(descriptor);
      },
    });
  }

  /**
   * Takes places of a port whose sockets another process has bound and passed on, as systemd does: two processes share it while the one
   * follows the other. New clients go where they went before until `accept` is called. Linux only. Throws `QuicError`: `EADDRINUSE` where
   * other processes have so many places that too few are left.
   */
  static inherit(options: InheritedPortOptions): PortGroup {
    checkOptions("PortGroup.inherit()", options, INHERITED_PORT_OPTIONS);
    const { descriptors: given, places = 1, connectionIds } = options;
    const ids = packConnectionIds(connectionIds);
    const descriptors = [...given];
    if (descriptors.some((descriptor) => taken.has(descriptor))) {
      const message = "this process has a place of the port already";
      throw new QuicError({ source: "system", code: "EADDRINUSE", message });
    }
    const native = loadNative();
    const [port = 0, ...claimed] = unwrap(native.claimPlaces(descriptors, places)).split(" ").map(Number);
    const members: readonly SteeredMember[] = claimed.map((place) => ({
      descriptor: descriptors[place] as number,
      place,
    }));
    for (const { descriptor } of members) taken.add(descriptor);
    // Among the processes that have had new clients go to their places.
    let turn = 0;
    return new PortGroup(port, members, {
      accept: (accepting, empty) => {
        turn = unwrap(native.steerGroup(descriptors, accepting, empty, Uint8Array.from(claimed), turn, ids));
      },
      close: () => {
        for (const { descriptor } of members) if (taken.delete(descriptor)) native.unclaimPlace(descriptor);
      },
    });
  }

  /**
   * Has new clients go to these places alone, such as while a worker drains. Sessions stay where they are. Packets for places that are
   * `empty`, which have no worker, go to the first of `places`, whose worker ends their sessions. Where the sockets were inherited, so
   * do those of processes that are gone, and nothing changes once a process that came later has called this.
   */
  accept(places: readonly number[] = this.members.map(({ place }) => place), empty: readonly number[] = []): void {
    if (this.#open) this.#steering.accept(Uint8Array.from(places), Uint8Array.from(empty));
  }

  /**
   * Closes this process's sockets; those that it was passed stay open, and others may take the places. Workers that the kernel steers
   * packets to go on.
   */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#steering.close();
  }
}

/** The process's environment goes before the option. */
function chooseSteering(
  option: PortGroupOptions["steering"] = process.platform === "linux" ? "kernel" : "relay",
): "kernel" | "relay" {
  const said = process.env["QUICRPC_STEERING"] || option;
  if (said === "kernel" || said === "relay") return said;
  throw invalidOption(`steering, or QUICRPC_STEERING, must be "kernel" or "relay", not ${JSON.stringify(said)}`);
}
