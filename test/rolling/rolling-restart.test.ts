// Servers in processes of their own are restarted one after the other, under live streams: no caller sees an error, a gap or an item twice.
import { type Connection, RpcError } from "@quicrpc/core";
import type { Pool } from "@quicrpc/pool";
import { connect, connectPool, type DevCertificate, devCertificate } from "@quicrpc/node";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { trustOf } from "../../packages/node/test/trust.js";
import { freePort } from "../../scripts/free-port.mjs";
import { startProgram } from "../child-program.js";
import { follow, type RollingSettings } from "./log.js";

const PROGRAM = new URL("./server.ts", import.meta.url);
const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
const restarts = Number(process.env["QUICRPC_ROLLING_RESTARTS"] ?? 2);
const streams = Number(process.env["QUICRPC_ROLLING_STREAMS"] ?? 40);
const everyMs = Number(process.env["QUICRPC_ROLLING_EVERY_MS"] ?? 20);
const spreadMs = Number(process.env["QUICRPC_ROLLING_SPREAD_MS"] ?? 100);
const quietMs = Number(process.env["QUICRPC_ROLLING_QUIET_MS"] ?? 0);
const STREAMS_OF_CALLER = 50;

/** The pauses of streams: milliseconds for an item, beyond what the log has between two. The longest of each stream in each period. */
class Pauses {
  private readonly all: number[] = [];
  /** The longest of each stream in the present period. */
  private readonly present: number[] = [];

  add(stream: number, ms: number): void {
    this.present[stream] = Math.max(this.present[stream] ?? 0, ms);
  }

  /** A period is over. */
  note(): void {
    this.all.push(...this.present);
    this.present.fill(0);
  }

  /** Forgets what was before. */
  clear(): void {
    this.all.length = 0;
    this.present.fill(0);
  }

  /** The pause that so large a share does not exceed. */
  percentile(share: number): number {
    const sorted = this.all.toSorted((a, b) => a - b);
    return Math.round(Math.max(0, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0));
  }
}

/** Account of what the readers of all streams have seen. */
class Account {
  readonly errors: string[] = [];
  wrong = 0;
  items = 0;
  readonly pauses: Pauses = new Pauses();
  private readers = 0;

  async read(caller: Caller, signal: AbortSignal): Promise<void> {
    const index = this.readers++;
    let last = 0;
    let at: number | undefined;
    try {
      for await (const { id } of caller.serverStream(follow, undefined, { signal })) {
        if (id !== last + 1) this.wrong++;
        last = id;
        this.items++;
        const now = performance.now();
        if (at !== undefined) this.pauses.add(index, now - at - everyMs);
        at = now;
      }
    } catch (error) {
      if (!signal.aborted)
        this.errors.push(error instanceof RpcError ? `${error.code}: ${error.message}` : String(error));
    }
  }
}

type Caller = Pool | Connection;

/** How clients find the other server. */
interface Way {
  readonly name: string;
  open(urls: readonly string[], index: number, hash: DevCertificate["hash"]): Promise<Caller>;
  /** Where the server that drains sends its clients. */
  to(other: string): string | undefined;
  /** Whether the caller has all that it is to have between two restarts. */
  settled(caller: Caller): boolean;
}

const backoff = { initialMs: 50, maxMs: 200 };
const ways: readonly Way[] = [
  {
    name: "a pool",
    open: (urls, _, hash) => connectPool(urls, { ...trustOf(urls[0] as string, { hash }), backoff }),
    to: () => undefined,
    settled: (caller) => (caller as Pool).targets.every(({ status }) => status === "ready"),
  },
  {
    name: "goaways that name the other server",
    open: (urls, index, hash) => {
      const url = urls[index % urls.length] as string;
      return connect(url, { ...trustOf(url, { hash }), advanced: { allowedRedirects: urls, backoff } });
    },
    to: (other) => other,
    settled: ({ state }) => state.status === "ready",
  },
];

it.each(ways.flatMap((way) => (engine ? ["tcp", "quic"] : ["tcp"]).map((scheme) => [scheme, way.name, way] as const)))(
  "streams over %s move at each drain, by %s, and lose nothing",
  { timeout: 60_000 + restarts * 6000 },
  async (scheme, _, way) => {
    const { cert, key, hash } = await devCertificate();
    const start = async (listen: string): Promise<{ child: ChildProcess; message: string }> =>
      startProgram<string>(PROGRAM, { listen, since: began, everyMs, tls: { cert, key } } satisfies RollingSettings);
    const began = Date.now();
    const servers = await Promise.all([1, 2].map(async () => start(`${scheme}://127.0.0.1:${await freePort()}`)));
    const urls = servers.map(({ message }) => message);
    const ending = new AbortController();
    const account = new Account();
    const callers: Caller[] = [];
    const reading: Promise<void>[] = [];
    let quiet: number | undefined;
    try {
      for (let left = streams; left > 0; left -= STREAMS_OF_CALLER) {
        const caller = await way.open(urls, callers.length, hash);
        callers.push(caller);
        for (let i = 0; i < Math.min(left, STREAMS_OF_CALLER); i++) reading.push(account.read(caller, ending.signal));
      }
      if (quietMs > 0) {
        // What pauses there are without a restart: those of the machine. The first seconds are of the streams that begin.
        for (let i = 0; i < 2; i++) {
          account.pauses.clear();
          // oxlint-disable-next-line eslint/no-restricted-globals -- a time is measured
          await new Promise((resolve) => setTimeout(resolve, quietMs));
          account.pauses.note();
        }
        quiet = account.pauses.percentile(0.99);
      }
      account.pauses.clear();
      for (let restart = 0; restart < restarts; restart++) {
        const index = restart % 2;
        const { child } = servers[index] as { child: ChildProcess };
        const gone = once(child, "exit");
        child.send({ to: way.to(urls[1 - index] as string), spreadMs });
        await gone;
        servers[index] = await start(urls[index] as string);
        await vi.waitUntil(() => callers.every((caller) => way.settled(caller)), { interval: 10, timeout: 60_000 });
        account.pauses.note();
      }
    } finally {
      ending.abort();
      await Promise.all(reading);
      await Promise.all(callers.map((caller) => caller.close()));
      for (const { child } of servers) child.kill();
    }
    const { errors, wrong, items, pauses } = account;
    const [p50, p99, most] = [0.5, 0.99, 1].map((share) => pauses.percentile(share));
    const result = {
      scheme,
      by: way.name,
      streams,
      restarts,
      items,
      errors: errors.length,
      wrong,
      quiet,
      p50,
      p99,
      most,
    };
    const file = process.env["QUICRPC_ROLLING_ACCOUNTS"];
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`);
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(items).toBeGreaterThan(streams * restarts);
  },
);
