// Servers in processes of their own are restarted one after the other, under live streams: no caller sees an error, a gap or an item twice.
import { type Pool, RpcError } from "@quicrpc/core";
import { connectPool, devCertificate } from "@quicrpc/node";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { expect, it } from "vitest";
import { trustOf } from "../../packages/node/test/trust.js";
import { startProgram } from "../child-program.js";
import { follow, type RollingSettings } from "./log.js";

const PROGRAM = new URL("./server.ts", import.meta.url);
const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
const restarts = Number(process.env["QUICRPC_ROLLING_RESTARTS"] ?? 2);
const streams = Number(process.env["QUICRPC_ROLLING_STREAMS"] ?? 40);
const everyMs = 20;
const STREAMS_OF_POOL = 50;

/** What the readers of all streams have seen. */
class Account {
  readonly errors: string[] = [];
  wrong = 0;
  items = 0;
  /** The longest pause of each stream in each restart: milliseconds for an item, beyond what the log has between two. */
  readonly pauses: number[] = [];
  /** The same of each stream in the present restart. */
  private readonly present: number[] = [];

  /** A restart is over. */
  note(): void {
    this.pauses.push(...this.present);
    this.present.fill(0);
  }

  async read(pool: Pool, signal: AbortSignal): Promise<void> {
    const index = this.present.push(0) - 1;
    let last = 0;
    let at: number | undefined;
    try {
      for await (const { id } of pool.serverStream(follow, undefined, { signal })) {
        if (id !== last + 1) this.wrong++;
        last = id;
        this.items++;
        const now = performance.now();
        if (at !== undefined) this.present[index] = Math.max(this.present[index] ?? 0, now - at - everyMs);
        at = now;
      }
    } catch (error) {
      if (!signal.aborted)
        this.errors.push(error instanceof RpcError ? `${error.code}: ${error.message}` : String(error));
    }
  }

  /** The pause that so large a share does not exceed. */
  percentile(share: number): number {
    const sorted = this.pauses.toSorted((a, b) => a - b);
    return Math.max(0, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  }
}

it.each(engine ? ["tcp", "quic"] : ["tcp"])(
  "streams over %s move at each drain, and lose nothing",
  { timeout: 60_000 + restarts * 3000 },
  async (scheme) => {
    const { cert, key, hash } = await devCertificate();
    const start = async (listen: string): Promise<{ child: ChildProcess; message: string }> =>
      startProgram<string>(PROGRAM, { listen, since: began, everyMs, tls: { cert, key } } satisfies RollingSettings);
    const began = Date.now();
    const servers = await Promise.all([1, 2].map(() => start(`${scheme}://127.0.0.1:0`)));
    const urls = servers.map(({ message }) => message);
    const ending = new AbortController();
    const account = new Account();
    const pools: Pool[] = [];
    const reading: Promise<void>[] = [];
    try {
      for (let left = streams; left > 0; left -= STREAMS_OF_POOL) {
        const pool = await connectPool(urls, {
          ...trustOf(urls[0] as string, { hash }),
          backoff: { initialMs: 50, maxMs: 200 },
        });
        pools.push(pool);
        for (let i = 0; i < Math.min(left, STREAMS_OF_POOL); i++) reading.push(account.read(pool, ending.signal));
      }
      for (let restart = 0; restart < restarts; restart++) {
        const index = restart % 2;
        const { child } = servers[index] as { child: ChildProcess };
        const gone = once(child, "exit");
        child.send("drain");
        await gone;
        servers[index] = await start(urls[index] as string);
        await Promise.all(pools.map((pool) => bothReady(pool)));
        account.note();
      }
    } finally {
      ending.abort();
      await Promise.all(reading);
      await Promise.all(pools.map((pool) => pool.close()));
      for (const { child } of servers) child.kill();
    }
    const result = {
      scheme,
      streams,
      restarts,
      items: account.items,
      p50: account.percentile(0.5),
      p99: account.percentile(0.99),
      most: account.percentile(1),
    };
    const file = process.env["QUICRPC_ROLLING_ACCOUNTS"];
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`);
    expect(account.errors).toEqual([]);
    expect(account.wrong).toBe(0);
    expect(account.items).toBeGreaterThan(streams * restarts);
  },
);

/** Waits until both servers take calls. */
async function bothReady(pool: Pool): Promise<void> {
  for await (const _ of ticks()) if (pool.targets.every(({ status }) => status === "ready")) return;
}

async function* ticks(): AsyncGenerator<void> {
  for (;;) yield await new Promise<void>((resolve) => setTimeout(resolve, 10));
}
