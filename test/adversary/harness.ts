// A server in its own process with a small heap, attacked from here. Each test states how much an attack may cost.
import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DirectSession } from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import { devCertificate, dial, type DialOptions } from "@quicrpc/node";
import type { TransportDialOptions } from "@quicrpc/node/transport";
import { afterAll, expect, vi } from "vitest";
import { dialQuic, dialWebTransportSession } from "../../packages/node/dist/dial/quic.js";
import { dialTcp, dialTls, dialUnix } from "../../packages/node/dist/dial/sockets.js";
import { dialWebSocket } from "../../packages/node/dist/dial/web-socket.js";
import { startProgram } from "../child-program.js";
import { RawPeer } from "../../packages/core/test/raw-peer.js";
import { type Held, methods, type VictimSettings } from "./contract.js";
import { trustOf } from "../../packages/node/test/trust.js";

/** Bytes of JavaScript's heap that the victim may have. */
const HEAP_MIB = 256;
export const MIB = 1_048_576;

const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
/** Every scheme that a default server can listen on here. */
export const schemes: readonly string[] = [
  ...(engine ? ["quic:", "https:"] : []),
  "tls:",
  "wss:",
  "tcp:",
  "ws:",
  ...(process.platform === "win32" ? [] : ["unix:"]),
];

function listenUrl(scheme: string): string {
  if (scheme === "unix:") return `unix:${join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket")}`;
  const path = ["https:", "wss:", "ws:"].includes(scheme) ? "/rpc" : "";
  return `${scheme}//127.0.0.1:0${path}`;
}

const diallers = new Map<string, (url: URL, options: TransportDialOptions) => Promise<unknown>>([
  ["quic:", dialQuic],
  ["https:", dialWebTransportSession],
  ["tls:", dialTls],
  ["tcp:", dialTcp],
  ["unix:", dialUnix],
  ["ws:", dialWebSocket],
  ["wss:", dialWebSocket],
]);

/** A running server to attack. */
export class Victim {
  readonly urls: readonly string[];
  /** All that it wrote to stdout and stderr. */
  written = 0;
  private readonly child: ChildProcess;
  private measurements = 0;

  private constructor(child: ChildProcess, urls: readonly string[]) {
    this.child = child;
    this.urls = urls;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (bytes: Uint8Array) => {
        this.written += bytes.length;
      });
    }
  }

  /** Starts one that listens on all schemes, or on those given. */
  static async start(
    options: Partial<VictimSettings> & { readonly schemes?: readonly string[] } = {},
  ): Promise<Victim> {
    const { schemes: wanted = schemes, ...given } = options;
    const settings: VictimSettings = { listen: wanted.map(listenUrl), webSocket: false, http2: false, ...given };
    const { child, message } = await startProgram<{ urls: string[] }>(new URL("victim.ts", import.meta.url), settings, [
      `--max-old-space-size=${HEAP_MIB}`,
      "--expose-gc",
    ]);
    return new Victim(child, message.urls);
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  url(scheme: string): string {
    return this.urls.find((url) => url.startsWith(scheme)) as string;
  }

  /** Returns memory, sessions and handlers; `reset` restarts the peak. Rejects when the victim has died. */
  async measure(reset: boolean = false): Promise<Held> {
    const id = ++this.measurements;
    const answer = new Promise<Held>((resolve, reject) => {
      const onExit = (): void =>
        reject(new Error(`the victim died: exit ${this.child.exitCode} ${this.child.signalCode}`));
      const onMessage = (message: { id: number; held: Held }): void => {
        if (message.id !== id) return;
        this.child.off("message", onMessage);
        this.child.off("exit", onExit);
        resolve(message.held);
      };
      this.child.on("message", onMessage);
      this.child.once("exit", onExit);
      if (!this.alive) onExit();
    });
    if (this.alive) this.child.send({ id, reset });
    return answer;
  }

  /** A session of our own client. */
  async dial(scheme: string, options: DialOptions = {}): Promise<Session> {
    const { hash } = await devCertificate();
    return dial(this.url(scheme), { ...trustOf(this.url(scheme), { hash }), ...options });
  }

  /** A transport session on which nothing has been said, for a peer that says what it wants. */
  async transport(scheme: string, options: TransportDialOptions = {}): Promise<DirectSession> {
    const { hash } = await devCertificate();
    const dialler = diallers.get(scheme);
    return (await dialler?.(new URL(this.url(scheme)), {
      serverCertificateHashes: [hash],
      ...options,
    })) as DirectSession;
  }

  /** A peer that writes any bytes. */
  async peer(scheme: string): Promise<RawPeer> {
    return new RawPeer(await this.transport(scheme));
  }

  /** Sets how many files and sockets the victim may have open. Linux only. */
  limitDescriptors(count: number): void {
    execFileSync("prlimit", ["--pid", String(this.child.pid), `--nofile=${count}:${count}`]);
  }

  /** CPU time that all threads of the victim have used, in milliseconds; 0 if the system cannot tell. */
  cpuTime(): number {
    return cpuTimeOf(this.child.pid ?? 0);
  }

  async stop(): Promise<void> {
    if (!this.alive) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }
}

/** CPU time that all threads of a process have used, in milliseconds; 0 if the system cannot tell. */
export function cpuTimeOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain spaces. utime and stime are in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

/** Has a victim for the tests of a file: the one before, unless an attack has killed it. */
export function sharedVictim(): () => Promise<Victim> {
  let victim: Victim | undefined;
  afterAll(() => victim?.stop());
  return async () => {
    if (victim?.alive !== true) victim = await Victim.start();
    return victim;
  };
}

/** The most that an attack may cost, beyond what the victim held before it. */
export interface Bounds {
  /** Bytes resident at the peak. */
  readonly peak: number;
  /** Bytes alive after it is over. Default: 16 MiB: buffers that are kept for the next session. */
  readonly after?: number;
  /** Scheme of the honest client that is served meanwhile. Default: that of the first URL. */
  readonly witness?: string;
  /** Milliseconds of the victim's CPU time that a call of that client may wait for. Default: not checked. */
  readonly cpu?: number;
}

/** Measured cost of an attack. */
export interface Cost {
  /** Bytes. */
  readonly peak: number;
  readonly after: number;
  /** Calls that the other client made meanwhile, and milliseconds that 99% of them took at most. */
  readonly calls: number;
  readonly p99: number;
  /** CPU time of the victim in milliseconds, all threads, during the slowest of those calls; 0 if the system cannot tell. */
  readonly cpu: number;
}

/** How often each attack runs, one after the other: `node scripts/adversary.mjs` has more. */
const rounds = Number(process.env["QUICRPC_ADVERSARY_ROUNDS"] ?? 1);
vi.setConfig({ testTimeout: 120_000 * rounds });
/** File to which each cost is appended as a line of JSON. */
const costs = process.env["QUICRPC_ADVERSARY_COSTS"];

/**
 * Runs an attack, which ends its own sessions before it returns, while another client makes calls one after the other.
 * Fails when the victim dies, when one of those calls fails, when the peak is above the bound, or when memory, sessions or
 * handlers are not given back.
 */
export async function withstand(victim: Victim, attack: () => Promise<unknown>, bounds: Bounds): Promise<Cost> {
  const scheme = bounds.witness ?? new URL(victim.urls[0] as string).protocol;
  const witness = await victim.dial(scheme);
  await witness.unary(methods.echo, "before");
  const before = await victim.measure(true);
  const stop = new AbortController();
  const times: number[] = [];
  let cpu = 0;
  const served = (async () => {
    while (!stop.signal.aborted) {
      const began = performance.now();
      const usedBefore = victim.cpuTime();
      expect(await witness.unary(methods.echo, times.length, { timeoutMs: 15_000 })).toBe(times.length);
      times.push(performance.now() - began);
      cpu = Math.max(cpu, victim.cpuTime() - usedBefore);
    }
  })();
  served.catch(() => {});
  try {
    for (let round = 0; round < rounds; round++) await attack();
  } finally {
    stop.abort();
  }
  await served;
  const calls = times.length;
  expect(calls, "calls of another client during the attack").toBeGreaterThan(0);
  expect(cpu, "milliseconds of CPU time during a call of another client").toBeLessThanOrEqual(bounds.cpu ?? Infinity);
  const { peak } = await victim.measure();
  expect((peak - before.resident) / MIB, "MiB at the peak").toBeLessThan(bounds.peak / MIB);
  const after = await givenBack(victim, before, bounds.after ?? 16 * MIB);
  await witness.close();
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(calls * 0.99)] ?? Number.NaN;
  const cost: Cost = { peak: peak - before.resident, after: after.live - before.live, calls, p99, cpu };
  if (costs !== undefined) {
    appendFileSync(costs, `${JSON.stringify({ attack: expect.getState().currentTestName, ...cost })}\n`);
  }
  return cost;
}

/**
 * Measures until sessions and handlers are back to their earlier numbers and no more memory than the allowance is held,
 * for at most 10 s.
 */
async function givenBack(victim: Victim, before: Held, allowance: number): Promise<Held> {
  const until = Date.now() + 10_000;
  for (;;) {
    const now = await victim.measure();
    const { sessions, handlers, live } = now;
    const good = sessions <= before.sessions && handlers <= before.handlers && live <= before.live + allowance;
    if (good) return now;
    if (Date.now() > until) {
      expect({ sessions, handlers }).toEqual({ sessions: before.sessions, handlers: before.handlers });
      expect((live - before.live) / MIB, "MiB alive afterwards").toBeLessThan(allowance / MIB);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
