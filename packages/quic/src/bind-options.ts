import { isIP } from "node:net";
import { hostname } from "node:os";
import { type ConnectionIdOptions, packConnectionIds } from "./connection-ids.js";
import { invalidOption } from "./errors.js";
import { packFields } from "./native.js";

/** Options of `Endpoint.bind`. */
export interface BindOptions {
  /** IP address to bind, or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" if IPv6 is unavailable. */
  host?: string;
  /** UDP port to bind. Default 0: any free port. */
  port?: number;
  /**
   * How the native engine and the event loop wake each other; see docs/engine.md. Default "auto", or the value of the
   * environment variable QUICRPC_DRIVER.
   */
  driver?: "auto" | "loop" | "thread";
  /**
   * If true, the event loop polls for responses for up to 100 µs after it has sent data, if recent responses arrived
   * faster than that. Sleeping and waking takes longer and costs more: without polling, sequential calls lose a fifth
   * of their rate. Timers and other sockets still work meanwhile. Default true, or the value of the environment
   * variable QUICRPC_BUSY_POLL (1 or 0).
   */
  busyPoll?: boolean;
  /**
   * Lets other endpoints of this and other processes bind the same port with `reusePort` (SO_REUSEPORT; not on
   * Windows). On Linux and FreeBSD the system distributes new clients among these endpoints. See docs/tuning.md for
   * clients whose address changes. Default false.
   */
  reusePort?: boolean;
  /**
   * Socket of a `PortGroup` that this endpoint uses, with the group's `host`, `port` and `reusePort`. Default: none.
   */
  member?: GroupMember;
  /**
   * If true, the native engine passes several datagrams in one system call, if the system supports it (on Linux GSO,
   * GRO and recvmmsg). Set it to false if a network driver damages such datagrams. Default true, or the value of the
   * environment variable QUICRPC_OFFLOAD (1 or 0).
   */
  offload?: boolean;
  /**
   * At least 32 secret bytes that survive a restart. With a fixed secret, the endpoint ends sessions of a previous
   * process that was bound to the same address on a host with the same name (stateless reset, RFC 9000 §10.3). With
   * `reusePort`, an endpoint ends only the sessions of processes that have exited. Endpoints with the same secret
   * accept each other's address tokens (§8.1). Default: random.
   */
  secret?: Uint8Array;
  /**
   * Format of connection ids for balancers that route packets by them. Cannot be combined with `reusePort`. Default:
   * random ids.
   */
  connectionIds?: ConnectionIdOptions;
  /**
   * Receives exceptions that the application's callbacks throw. After an exception of `onSession`, `onRequest` or
   * `onHandshakeError`, that client's session ends. Default: exceptions of these three are printed by `console.error`;
   * exceptions of session and stream handlers become an `uncaughtException`, like those of any event listener.
   */
  onError?: (error: unknown) => void;
}

/** One member of a `PortGroup`, used by one process or thread. */
export type GroupMember = SteeredMember | RelayedMember;

/** A member of a `PortGroup` to which the kernel delivers packets. */
export interface SteeredMember {
  /** File descriptor of the member's socket, open in this process. */
  readonly descriptor: number;
  readonly relay?: undefined;
  /** Number of the member in its group, from 0. */
  readonly place: number;
}

/**
 * A member of a `PortGroup` to which another process, which has bound the port, relays packets. It contains a secret:
 * anybody who has the secret can receive the packets.
 */
export interface RelayedMember {
  readonly descriptor?: undefined;
  readonly relay: {
    /** Loopback port on which the process that has bound the port accepts its workers. */
    readonly port: number;
    /** Shared secret: 32 hexadecimal digits. */
    readonly token: string;
  };
  /** Number of the member in its group, from 0. */
  readonly place: number;
}

/** Options of `Endpoint.bind` in the form that the native engine expects. */
export interface EngineOptions {
  /** An IP address, or "" for any address. */
  readonly host: string;
  readonly port: number;
  readonly driver: string;
  readonly busyPoll: boolean;
  readonly reusePort: boolean;
  readonly member: GroupMember | undefined;
  readonly offload: boolean;
  readonly returnsMemory: boolean;
  /** Secret for stateless resets and address tokens. Empty for a random secret. */
  readonly secret: Uint8Array;
  readonly connectionIds: Uint8Array;
}

export function engineOptions(options: BindOptions = {}): EngineOptions {
  const { host, port, driver, busyPoll, offload, reusePort = false, member, secret = new Uint8Array(0) } = options;
  if (!(secret instanceof Uint8Array)) throw invalidOption("secret must be a Uint8Array of at least 32 bytes");
  return {
    host: addressOf(host),
    port: portOf(port),
    driver: chooseDriver(driver),
    busyPoll: flagOf("QUICRPC_BUSY_POLL", busyPoll),
    reusePort,
    member,
    offload: flagOf("QUICRPC_OFFLOAD", offload),
    returnsMemory,
    secret,
    connectionIds: packConnectionIds(options.connectionIds),
  };
}

/** Serialises options for the native engine's function `bind`. */
export function packOptions(options: EngineOptions): Uint8Array {
  const { host, driver, busyPoll, reusePort, member, offload, secret, connectionIds } = options;
  const text = new TextEncoder();
  const names = [text.encode(host), text.encode(driver)];
  const flags = [busyPoll, reusePort, offload, options.returnsMemory].map((set) => Uint8Array.of(set ? 1 : 0));
  return packFields([...names, ...flags, packMember(member), secret, text.encode(hostname()), connectionIds]);
}

/**
 * Serialises a group member for the native engine: four bytes of descriptor (little-endian) and one byte of place, or
 * two bytes of relay port, the place and the token.
 */
function packMember(member: GroupMember | undefined): Uint8Array {
  if (member === undefined) return new Uint8Array(0);
  if (member.relay !== undefined) {
    const { port, token } = member.relay;
    return Uint8Array.of(port & 0xff, port >> 8, member.place, ...Buffer.from(token, "hex"));
  }
  const packed = new Uint8Array(5);
  new DataView(packed.buffer).setInt32(0, member.descriptor, true);
  packed[4] = member.place;
  return packed;
}

let returnsMemory = false;

/**
 * Makes endpoints that are bound from now on return free memory to the system after their sessions have ended. Only on
 * Linux with glibc. This affects all free memory of the process (`malloc_trim`), so it is not the default.
 */
export function returnFreedMemory(): void {
  returnsMemory = true;
}

/** Validates a UDP port and returns it. Default 0: any free port. */
export function portOf(port = 0): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalidOption(`port must be an integer from 0 to 65535, not ${String(port)}`);
}

export function addressOf(host = ""): string {
  const address = host === "localhost" ? "127.0.0.1" : host;
  if (address === "" || isIP(address) !== 0) return address;
  throw invalidOption(
    `host must be an IP address ("::" for every address) or "localhost", not ${JSON.stringify(host)}`,
  );
}

/**
 * Returns the driver to use. Bun must not use the loop driver, because its libuv functions are stubs that abort the
 * process.
 */
function chooseDriver(option: BindOptions["driver"]): string {
  const driver = process.env["QUICRPC_DRIVER"] || (option ?? "auto");
  if (driver !== "auto" && driver !== "loop" && driver !== "thread") {
    throw invalidOption(`driver, or QUICRPC_DRIVER, must be "auto", "loop" or "thread", not ${JSON.stringify(driver)}`);
  }
  const versions: Record<string, string | undefined> = process.versions;
  if (versions["bun"] === undefined) return driver;
  if (driver === "loop")
    throw invalidOption('the loop driver needs libuv, which Bun does not offer; use "thread" or "auto"');
  return "thread";
}

/** Returns the value of a boolean option. The environment variable `variable` takes precedence over the option. */
export function flagOf(variable: string, option = true): boolean {
  const value = process.env[variable] || (option ? "1" : "0");
  if (value === "1" || value === "0") return value === "1";
  throw invalidOption(`${variable} must be 1 or 0, not ${JSON.stringify(value)}`);
}
