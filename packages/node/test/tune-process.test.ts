import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { platformName } from "../../quic/scripts/platforms.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

/**
 * Prints how many collections of young objects were asked for while 40 MiB of payloads came and went at either end, how many pages the
 * kernel made for each of the next 80 payloads, and what is global.
 */
const program = `
  import { constants, PerformanceObserver } from "node:perf_hooks";
  import { runInNewContext } from "node:vm";
  import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
  import { devCertificate, dial, serve, tuneProcess } from "@quicrpc/node";
  if (process.env.TUNED) tuneProcess();
  if (process.env.OTHER_GC) globalThis.gc = () => { throw new Error("a program's own"); };
  const { NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED, NODE_PERFORMANCE_GC_MINOR: MINOR } = constants;
  let asked = 0;
  const count = (entries) => entries.forEach(({ detail: { kind, flags } }) => (asked += kind === MINOR && flags & FORCED ? 1 : 0));
  const observer = new PerformanceObserver((list) => count(list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  const bytes = uncheckedCodec();
  const echo = defineMethod({ name: "test.v1.Echo", id: 1 }, "unary", "echo", { id: 1, input: bytes, output: bytes });
  const tls = await devCertificate();
  const server = await serve({ listen: ["tls://127.0.0.1:0"], tls, routers: [createRouter({ echo }, { echo: (given) => given })] });
  const session = await dial(server.urls[0], { serverCertificateHashes: [tls.hash] });
  const payload = new Uint8Array(1024 * 1024);
  for (let i = 0; i < 40; i++) await session.unary(echo, payload);
  // Entries are delivered in a turn of their own.
  await new Promise((resolve) => setTimeout(resolve, 0));
  count(observer.takeRecords());
  const faults = () => process.resourceUsage().minorPageFault;
  const before = faults();
  for (let i = 0; i < 40; i++) await session.unary(echo, payload);
  const pages = (faults() - before) / 80;
  await session.close();
  await server.close();
  console.log(JSON.stringify({ asked, pages, global: typeof globalThis.gc, inContexts: runInNewContext("typeof gc") }));
`;

async function run(flags: readonly string[], env: Readonly<Record<string, string>>): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--input-type=module", "-e", program], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  return JSON.parse(stdout) as unknown;
}

describe("payloads that come and go in a tuned process", { timeout: 30_000 }, () => {
  it("are collected young, and nobody else gets `gc`", async () => {
    const outcome = (await run([], { TUNED: "1" })) as { asked: number };
    expect(outcome).toMatchObject({ global: "undefined", inContexts: "undefined" });
    expect(outcome.asked).toBeGreaterThanOrEqual(2);
  });

  it.runIf(platformName().endsWith("-gnu"))("lie in memory that the process has already", async () => {
    const { pages } = (await run([], { TUNED: "1" })) as { pages: number };
    // All of a payload: 256.
    expect(pages).toBeLessThan(64);
  });

  it("are collected by V8, whatever the program calls `gc`", async () => {
    const outcome = (await run([], { TUNED: "1", OTHER_GC: "1" })) as { asked: number };
    expect(outcome).toMatchObject({ global: "function", inContexts: "undefined" });
    expect(outcome.asked).toBeGreaterThanOrEqual(2);
  });

  it("are collected where the process runs with --expose-gc, which stays", async () => {
    const outcome = (await run(["--expose-gc"], { TUNED: "1" })) as { asked: number };
    expect(outcome).toMatchObject({ global: "function", inContexts: "function" });
    expect(outcome.asked).toBeGreaterThanOrEqual(2);
  });

  it("are left to V8 in a process that does not call tuneProcess", async () => {
    expect(await run([], {})).toEqual({
      asked: 0,
      pages: expect.any(Number) as number,
      global: "undefined",
      inContexts: "undefined",
    });
  });
});
