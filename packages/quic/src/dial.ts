import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Engine } from "./engine.js";
import { invalidOption, QuicError } from "./errors.js";
import {
  CONNECTION_ATTEMPT_DELAY_MS,
  DEFAULT_HANDSHAKE_TIMEOUT_MS,
  type TransportOptions,
  transportNumbers,
} from "./limits.js";
import { unwrap } from "./native.js";
import { isLoopback, isPortClosed } from "./port-probe.js";
import type { QuicSession } from "./session.js";
import { statsFromNumbers } from "./stats.js";
import { type ClientTlsOptions, encodeClientTls } from "./tls-options.js";

/** Maximum handshake timeout in milliseconds: the longest delay that a timer supports. */
export const MAX_HANDSHAKE_TIMEOUT_MS = 0x7fff_ffff;

/** Options of `connect`. */
export interface ConnectOptions {
  /** Host name or IP address of the server. The brackets of an IPv6 address are optional. */
  host: string;
  /** UDP port of the server. */
  port: number;
  /** Name that the server's certificate must contain. Default: `host`. */
  serverName?: string;
  /** Protocols to offer in the TLS handshake, in order of preference (RFC 7301). At least one. */
  alpn: string[];
  /**
   * Trusted certificates, and this side's own certificate. Default: the system's root certificates, and no own
   * certificate.
   */
  tls?: ClientTlsOptions;
  /** Timeouts, windows and limits of the connection (docs/limits.md). Default: `DEFAULT_TRANSPORT`. */
  transport?: TransportOptions;
  /**
   * If true, stores the server's session tickets in this endpoint and resumes sessions with them. If the server accepts
   * early data, `connect` resolves at once, and data written before the handshake is complete is sent with the first
   * packets (0-RTT). An attacker who records these packets can send them again, so write only data that the server may
   * receive twice. Default false.
   */
  earlyData?: boolean;
  /** Aborts the connection attempt. The promise then rejects with the signal's reason. Default: none. */
  signal?: AbortSignal;
  /** Timeout in milliseconds for name resolution and handshake together. Default 10,000. */
  handshakeTimeoutMs?: number;
}

/**
 * Milliseconds without a response after which the client checks whether the server's UDP port is closed. For addresses
 * of this machine; `ANSWER_ELSEWHERE_MS` is for other addresses.
 */
const ANSWER_HERE_MS = 25;
const ANSWER_ELSEWHERE_MS = 300;

/**
 * Milliseconds without a response after which another attempt to the same address starts in parallel. It is useful
 * because QUIC retransmits its first packet at growing intervals.
 */
const SILENT_ATTEMPT_MS = 2000;

/** Parameters of a connection attempt, except the address. */
interface Plan {
  readonly engine: Engine;
  readonly serverName: string;
  readonly port: number;
  readonly tls: Uint8Array;
  readonly transport: Float64Array;
  readonly earlyData: boolean;
}

/**
 * Resolves the host and connects to its addresses, starting one attempt shortly after another (RFC 8305 §5). Returns
 * the first session.
 */
export async function dial(engine: Engine, options: ConnectOptions, webTransportSessions = 0): Promise<QuicSession> {
  const { signal, port, handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS } = options;
  const host = options.host.replace(/^\[(.*)\]$/, "$1");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw invalidOption(`port must be an integer from 1 to 65535, not ${String(port)}`);
  }
  checkHandshakeTimeout(handshakeTimeoutMs);
  const plan: Plan = {
    engine,
    port,
    serverName: options.serverName ?? host,
    tls: encodeClientTls(options.alpn, options.tls),
    transport: transportNumbers(options.transport, { webTransportSessions }),
    earlyData: options.earlyData ?? false,
  };
  signal?.throwIfAborted();

  const where = `${host}${isIP(host) === 6 ? " port " : ":"}${port}`;
  const attempts = new Attempts(plan);
  const timer = setTimeout(() => {
    const message = `no answer from ${where} over UDP within ${handshakeTimeoutMs} ms; is the server running and UDP allowed?`;
    attempts.cancel(new QuicError({ source: "session", code: "ERR_QUIC_HANDSHAKE_TIMEOUT", message }));
  }, handshakeTimeoutMs);
  const onAbort = (): void => attempts.cancel(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  resolveHost(host, engine.address.family).then(
    (addresses) => attempts.start(addresses),
    (error: unknown) => attempts.cancel(error),
  );
  try {
    return await attempts.result;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

export function checkHandshakeTimeout(handshakeTimeoutMs: number): void {
  if (handshakeTimeoutMs > 0 && handshakeTimeoutMs <= MAX_HANDSHAKE_TIMEOUT_MS) return;
  throw invalidOption(
    `handshakeTimeoutMs must be from 1 to ${MAX_HANDSHAKE_TIMEOUT_MS}, not ${String(handshakeTimeoutMs)}`,
  );
}

/** Resolves the host to addresses that a socket of this family can reach, in the resolver's order. */
async function resolveHost(host: string, family: "IPv4" | "IPv6"): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  let addresses: { address: string; family: number }[];
  try {
    addresses = await lookup(host, { all: true });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "ENOTFOUND";
    throw new QuicError({ source: "system", code, message: `the name ${host} could not be resolved [${code}]`, cause });
  }
  const reachable = addresses.filter((entry) => family === "IPv6" || entry.family === 4).map((entry) => entry.address);
  if (reachable.length === 0) {
    const message = `${host} has no ${family} address, and this endpoint is bound to ${family} only`;
    throw new QuicError({ source: "system", code: "EAFNOSUPPORT", message });
  }
  return reachable;
}

class Attempts {
  readonly result: Promise<QuicSession>;
  readonly #plan: Plan;
  readonly #open: Set<number> = new Set();
  #resolve!: (session: QuicSession) => void;
  #reject!: (reason: unknown) => void;
  #waiting: string[] = [];
  #next: NodeJS.Timeout | undefined;
  readonly #timers: Set<NodeJS.Timeout> = new Set();
  #firstError: unknown;
  #settled = false;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  start(addresses: string[]): void {
    if (this.#settled) return;
    this.#waiting = addresses;
    this.#tryNext();
  }

  cancel(reason: unknown): void {
    if (this.#settled) return;
    this.#settle();
    this.#reject(reason);
  }

  #tryNext(): void {
    clearTimeout(this.#next);
    const address = this.#waiting.shift();
    if (address === undefined) {
      if (this.#open.size === 0) this.cancel(this.#firstError);
      return;
    }
    if (this.#waiting.length > 0) this.#next = setTimeout(() => this.#tryNext(), CONNECTION_ATTEMPT_DELAY_MS);
    this.#attempt(address);
  }

  #attempt(address: string): void {
    const { engine, port, serverName, tls, transport, earlyData } = this.#plan;
    let handle: number;
    try {
      handle = unwrap(engine.native.connect(address, port, serverName, tls, transport, earlyData));
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#open.add(handle);
    this.#after(isLoopback(address) ? ANSWER_HERE_MS : ANSWER_ELSEWHERE_MS, () => this.#probePort(handle, address));
    this.#watch(handle, address);
    engine.dial(handle, {
      connected: (session) => {
        this.#open.delete(handle);
        if (this.#settled) {
          session.close();
          return;
        }
        this.#settle();
        this.#resolve(session);
      },
      failed: (error) => {
        this.#open.delete(handle);
        this.#failed(error);
      },
    });
  }

  /**
   * Starts another attempt to the same address after each period without a response. If the server restarts or becomes
   * reachable, a new attempt reaches it sooner than a retransmission. The first successful attempt wins.
   */
  #watch(handle: number, address: string, before = 0): void {
    const { native } = this.#plan.engine;
    this.#after(SILENT_ATTEMPT_MS, () => {
      if (!this.#open.has(handle)) return;
      const { receivedUdpDatagrams } = statsFromNumbers(native.sessionStats(handle));
      if (receivedUdpDatagrams > before) this.#watch(handle, address, receivedUdpDatagrams);
      else this.#attempt(address);
    });
  }

  /** Calls `act` after `ms` milliseconds. Does nothing if the dial has been settled by then. */
  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  /** Checks whether the server's UDP port is closed. If the system reports that, the attempt fails at once. */
  #probePort(handle: number, address: string): void {
    if (!this.#open.has(handle)) return;
    const { engine, port } = this.#plan;
    void isPortClosed(address, port).then((closed) => {
      if (!closed || !this.#open.has(handle)) return;
      engine.kick();
      engine.native.portUnreachable(handle);
    });
  }

  #failed(error: unknown): void {
    if (this.#settled) return;
    this.#firstError ??= error;
    this.#tryNext();
  }

  /** Ends all attempts that have not succeeded. */
  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#next);
    for (const timer of this.#timers) clearTimeout(timer);
    const { engine } = this.#plan;
    for (const handle of this.#open) {
      engine.kick();
      engine.native.closeSession(handle, 0, new Uint8Array(0));
    }
  }
}
