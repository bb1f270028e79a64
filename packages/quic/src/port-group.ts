import { randomBytes } from "node:crypto";
import { closeSync } from "node:fs";
import { addressOf, flagOf, type GroupMember, portOf, type SteeredMember } from "./bind-options.js";
import { type ConnectionIdOptions, packConnectionIds } from "./connection-ids.js";
import { invalidOption, QuicError } from "./errors.js";
import { loadNative, unwrap } from "./native.js";
import { checkOptionNames, INHERITED_PORT_OPTIONS, PORT_GROUP_OPTIONS } from "./option-names.js";

/** Options of `PortGroup.bind`. */
export interface PortGroupOptions {
  /** IP address to bind, or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" if IPv6 is unavailable. */
  host?: string;
  /** UDP port to bind. Default 0: any free port. */
  port?: number;
  /** Number of members of the group, from 1 to 128: one for each worker. */
  places: number;
  /**
   * Format of connection ids for the endpoints of all members. From its connection id, the group finds the member that
   * a packet belongs to. Default: random ids.
   */
  connectionIds?: ConnectionIdOptions;
  /**
   * How packets reach the workers. "kernel": directly. "relay": through this process and sockets of the loopback
   * interface, which costs more but works on every system. Default: the value of the environment variable
   * QUICRPC_STEERING, otherwise "kernel" on Linux and "relay" elsewhere.
   */
  steering?: "kernel" | "relay";
}

/** Options of `PortGroup.inherit`. */
export interface InheritedPortOptions {
  /**
   * File descriptors of sockets that were passed to this process, all bound to the same address, in the order in which
   * they were bound. Each socket can be used by one worker.
   */
  descriptors: readonly number[];
  /** Number of sockets to use: the first ones that no other process uses. Default 1. */
  places?: number;
  /**
   * Format of connection ids for the endpoints of all members, the same in every process that shares the port. Default:
   * random ids.
   */
  connectionIds?: ConnectionIdOptions;
}

/** Delivers the packets of a port to the members of its group. */
interface Steering {
  accept(places: Uint8Array, empty: Uint8Array): void;
  close(): void;
}

const TOKEN_BYTES = 16;

/**
 * Inherited sockets that this process uses. This set is needed because the system cannot distinguish two groups of the
 * same process.
 */
const usedDescriptors: Set<number> = new Set();

/**
 * One UDP port for several workers. Each packet goes to the worker that issued its connection id, even after the
 * client's address has changed. New clients are distributed among the workers. On Linux the kernel does this: each
 * worker has its own socket, which stays open when the worker exits and keeps packets for the next worker. On other
 * systems this process owns the port and relays packets to and from the workers.
 */
export class PortGroup {
  readonly port: number;
  /** Members of the group in this process. Pass each to one worker's `Endpoint.bind({ member })`. */
  readonly members: readonly GroupMember[];
  readonly #steering: Steering;
  #open = true;

  private constructor(port: number, members: readonly GroupMember[], steering: Steering) {
    this.port = port;
    this.members = members;
    this.#steering = steering;
  }

  /**
   * Binds the UDP port. Throws `QuicError` with the system's code, such as `EADDRINUSE`, or with
   * `ERR_QUIC_INVALID_OPTION` if kernel steering was requested and is not available.
   */
  static bind(options: PortGroupOptions): PortGroup {
    checkOptionNames("PortGroup.bind()", options, PORT_GROUP_OPTIONS);
    const { host, port, places, connectionIds, steering } = options;
    const ids = packConnectionIds(connectionIds);
    const native = loadNative();
    const address = new TextEncoder().encode(addressOf(host));
    if (chooseSteering(steering) === "relay") {
      const token = randomBytes(TOKEN_BYTES);
      const bound = unwrap(native.bindRelay(address, portOf(port), flagOf("QUICRPC_OFFLOAD"), places, token, ids));
      const [relay = 0, boundPort = 0, channel = 0] = bound.split(" ").map(Number);
      const members = Array.from({ length: places }, (_, place) => ({
        place,
        relay: { port: channel, token: token.toString("hex") },
      }));
      return new PortGroup(boundPort, members, {
        accept: (accepting, empty) => unwrap(native.steerRelay(relay, accepting, empty)),
        close: () => native.closeRelay(relay),
      });
    }
    const [boundPort = 0, ...descriptors] = unwrap(native.bindGroup(address, portOf(port), places, ids))
      .split(" ")
      .map(Number);
    const members = descriptors.map((descriptor, place) => ({ descriptor, place }));
    return new PortGroup(boundPort, members, {
      accept: (accepting, empty) =>
        void unwrap(native.steerGroup(descriptors, accepting, empty, new Uint8Array(0), 0, ids)),
      close: () => {
        for (const descriptor of descriptors) closeSync(descriptor);
      },
    });
  }

  /**
   * Uses sockets of a port that another process, such as systemd, has bound and passed to this process. Two processes
   * can share the port in this way while one replaces the other. New clients are distributed as before until `accept`
   * is called. Only on Linux. Throws `QuicError` with `EADDRINUSE` if other processes use too many of the sockets.
   */
  static inherit(options: InheritedPortOptions): PortGroup {
    checkOptionNames("PortGroup.inherit()", options, INHERITED_PORT_OPTIONS);
    const { descriptors: inherited, places = 1, connectionIds } = options;
    const ids = packConnectionIds(connectionIds);
    const descriptors = [...inherited];
    if (descriptors.some((descriptor) => usedDescriptors.has(descriptor))) {
      const message = "this process already uses a socket of the port";
      throw new QuicError({ source: "system", code: "EADDRINUSE", message });
    }
    const native = loadNative();
    const [port = 0, ...claimed] = unwrap(native.claimPlaces(descriptors, places)).split(" ").map(Number);
    const members: readonly SteeredMember[] = claimed.map((place) => ({
      descriptor: descriptors[place] as number,
      place,
    }));
    for (const { descriptor } of members) usedDescriptors.add(descriptor);
    // Version number of this process's decisions about new clients. The newest process decides.
    let epoch = 0;
    return new PortGroup(port, members, {
      accept: (accepting, empty) => {
        epoch = unwrap(native.steerGroup(descriptors, accepting, empty, Uint8Array.from(claimed), epoch, ids));
      },
      close: () => {
        for (const { descriptor } of members) if (usedDescriptors.delete(descriptor)) native.unclaimPlace(descriptor);
      },
    });
  }

  /**
   * Sends new clients only to the members with these numbers (`places`), for example while a worker drains. Existing
   * sessions stay with their workers. `empty` are members without a worker: their packets go to the first member in
   * `places`, whose worker ends their sessions. With inherited sockets, this also applies to the sockets of processes
   * that have exited, and the call has no effect if a newer process has already called it.
   */
  accept(places: readonly number[] = this.members.map(({ place }) => place), empty: readonly number[] = []): void {
    if (this.#open) this.#steering.accept(Uint8Array.from(places), Uint8Array.from(empty));
  }

  /**
   * Closes this process's sockets. Inherited sockets stay open, so that other processes can use them. With kernel
   * steering, workers continue.
   */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#steering.close();
  }
}

/**
 * Returns how packets reach the workers. The environment variable QUICRPC_STEERING takes precedence over the option.
 */
function chooseSteering(
  option: PortGroupOptions["steering"] = process.platform === "linux" ? "kernel" : "relay",
): "kernel" | "relay" {
  const value = process.env["QUICRPC_STEERING"] || option;
  if (value === "kernel" || value === "relay") return value;
  throw invalidOption(`steering, or QUICRPC_STEERING, must be "kernel" or "relay", not ${JSON.stringify(value)}`);
}
