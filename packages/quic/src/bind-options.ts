import { isIP } from "node:net";
import { type ConnectionIdOptions, packConnectionIds } from "./connection-ids.js";
import { invalidOption } from "./errors.js";

/** Options of `Endpoint.bind`. */
export interface BindOptions {
  /** An IP address or "localhost". Default: "::" for IPv6 and IPv4, or "0.0.0.0" where IPv6 is unavailable. */
  host?: string;
  /** UDP port. Default 0: any free one. */
  port?: number;
  /** How the engine is woken; see docs/engine.md. Default "auto", or what QUICRPC_DRIVER says. */
  driver?: "auto" | "loop" | "thread";
  /**
   * Whether the event loop stays awake for up to 100 µs after it has sent, if answers have been coming sooner than that.
   * To sleep and be woken takes longer and costs more: without, sequential calls lose a fifth of their rate. Timers and
   * other sockets are handled meanwhile. Default true, or what QUICRPC_BUSY_POLL says (1 or 0).
   */
  busyPoll?: boolean;
  /**
   * Lets other endpoints of this and other processes bind the same port with `reusePort` (SO_REUSEPORT; not on Windows).
   * On Linux and FreeBSD the system spreads new peers over them. See docs/tuning.md for clients that move. Default false.
   */
  reusePort?: boolean;
  /** This endpoint's place in a group of workers, whose socket it takes: `host`, `port` and `reusePort` are the group's then. Default: none. */
  member?: GroupMember;
  /**
   * Whether several datagrams pass in one system call where the system has a way (on Linux GSO, GRO and recvmmsg). Without, each takes one of its own:
   * for a network driver that spoils what it is handed together. Default true, or what QUICRPC_OFFLOAD says (1 or 0).
   */
  offload?: boolean;
  /**
   * At least 32 secret bytes, the same after a restart. By them the endpoint ends the sessions of its predecessor,
   * which was bound to the same address on a host of the same name (stateless reset, RFC 9000 §10.3). With `reusePort`
   * each endpoint that shares the port does so for processes that are gone; sessions of those that live go on.
   * Endpoints with the same secret accept each other's address tokens (§8.1). Default: random.
   */
  secret?: Uint8Array;
  /** How connection ids are made where a balancer routes by them. Not with `reusePort`. Default: as the engine likes. */
  connectionIds?: ConnectionIdOptions;
  /**
   * Receives exceptions of `onSession`, `onRequest` and `onHandshakeError`, which cost the peer its session, and of the
   * handlers of sessions and streams. Without it the latter are an `uncaughtException`, as of any event listener. Default: `console.error` for the former.
   */
  onError?: (error: unknown) => void;
}

/** One place of a `PortGroup`, for the process or thread that takes it. */
export type GroupMember = SteeredMember | RelayedMember;

/** A place to which the kernel hands packets. */
export interface SteeredMember {
  /** The place's socket: an open descriptor of this process. */
  readonly descriptor: number;
  readonly relay?: undefined;
  /** Number of the place, from 0. */
  readonly place: number;
}

/** A place to which the process that has bound the group hands packets. It holds a secret: who has it can take the place. */
export interface RelayedMember {
  readonly descriptor?: undefined;
  readonly relay: {
    /** The port at which that process expects workers, on the loopback interface. */
    readonly port: number;
    /** The secret by which they know each other: 32 hexadecimal digits. */
    readonly token: string;
  };
  /** Number of the place, from 0. */
  readonly place: number;
}

/** `BindOptions` as the engine takes them. */
export interface EngineOptions {
  /** An IP address; empty for any. */
  readonly host: string;
  readonly port: number;
  readonly driver: string;
  readonly busyPoll: boolean;
  readonly reusePort: boolean;
  readonly member: GroupMember | undefined;
  readonly offload: boolean;
  /** Empty for a random one. */
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
    secret,
    connectionIds: packConnectionIds(options.connectionIds),
  };
}

/** Default 0: any free one. */
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

/** Bun resolves libuv's symbols to stubs that abort, so the engine must not even look for them there. */
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

/** The process's environment goes before the option. */
export function flagOf(variable: string, option = true): boolean {
  const said = process.env[variable] || (option ? "1" : "0");
  if (said === "1" || said === "0") return said === "1";
  throw invalidOption(`${variable} must be 1 or 0, not ${JSON.stringify(said)}`);
}
