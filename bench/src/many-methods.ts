import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { z } from "zod";
import type { GrowthRow } from "./growth.js";
import { round } from "./rows.js";

const CALLS = 20_000;

/** Measures a service of `count` methods in one process whose calls use all methods in turn. */
export async function methodsOf(count: number): Promise<GrowthRow> {
  const before = heap();
  const service = { name: "bench.v1.Many", id: 1 };
  const codec = zodCodec(z.object({ i: z.int() }));
  const methods = Array.from({ length: count }, (_, at) =>
    defineMethod(service, "unary", `method${at}`, { id: at + 1, input: codec, output: codec }),
  );
  const router = createRouter(
    Object.fromEntries(methods.map((method) => [method.name, method])),
    Object.fromEntries(methods.map(({ name }) => [name, (input: { i: number }) => input])),
  );
  const [here, there] = createMemoryPair();
  const server = createSession(there, { routers: [router] });
  const client = createSession(here);
  const run = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i++) {
      const method = methods[i % count];
      if (method !== undefined && (await client.unary(method, { i })).i !== i) throw new Error("a wrong answer");
    }
  };
  await run(CALLS);
  const started = performance.now();
  await run(CALLS);
  const seconds = (performance.now() - started) / 1000;
  const kilobytes = round((heap() - before) / 1024 / count, 2);
  await client.close();
  await server.closed;
  return {
    of: "methods",
    contestant: "quicrpc, in memory",
    count,
    seconds: round(seconds, 3),
    microsEach: round((seconds * 1e6) / CALLS, 2),
    clientKilobytes: kilobytes,
    serverKilobytes: kilobytes,
  };
}

/** Returns the heap size in bytes after a garbage collection. */
function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
