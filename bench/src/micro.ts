// The pieces of a call, each compared with the nearest library: `npm run bench micro [-- --json]`.
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { initTRPC } from "@trpc/server";
import { newMessagePortRpcSession, RpcTarget, type RpcStub } from "capnweb";
import { Bench } from "tinybench";
import * as ws from "ws";
import { z } from "zod";
import { CallTable } from "../../packages/core/dist/call/lanes/lane.js";
import * as FrameType from "../../packages/core/dist/wire/frame-type.js";
import { MemoryBudget } from "../../packages/core/dist/memory-budget.js";
import { FrameReader } from "../../packages/core/dist/wire/reader.js";
import { FrameWriter } from "../../packages/core/dist/wire/writer.js";
import { measureBatching } from "./batching.js";
import { connectBench, type UntypedBench } from "./contestants/connect.js";
import { createBenchClient, createBenchRouter } from "./generated/bench.js";

/** The cost of one way to perform one operation. */
export interface Piece {
  readonly piece: string;
  readonly by: string;
  /** Median nanoseconds of one operation. */
  readonly nanoseconds: number;
}

/** Exported by ws, but not in its types. */
const { Receiver, Sender } = ws as unknown as {
  readonly Receiver: new (options: object) => NodeJS.WritableStream;
  readonly Sender: { frame(data: Buffer, options: object): Buffer[] };
};
const BATCH = 64;
const pieces: Piece[] = [];

/** Measures each way to perform an operation `amount` times, because the clock is too coarse for a single one. */
async function measure(piece: string, amount: number, ways: Readonly<Record<string, () => unknown>>): Promise<void> {
  const bench = new Bench({ time: 400, warmupTime: 200 });
  for (const [by, run] of Object.entries(ways)) bench.add(by, run);
  await bench.run();
  for (const { name, result } of bench.tasks) {
    if (result.state !== "completed") throw new Error(`${piece}, ${name}: ${result.state}`);
    pieces.push({ piece, by: name, nanoseconds: Math.round((result.latency.p50 * 1e6) / amount) });
  }
}

function framing(): Record<string, () => void> {
  const payload = new Uint8Array(32).fill(7);
  const writer = new FrameWriter(1 << 14);
  const reader = new FrameReader(1 << 20, new MemoryBudget(1 << 20, "the benchmark"));
  let seen = 0;
  const receiver = new Receiver({ isServer: false });
  receiver.on("message", () => seen++);
  const expect = (): void => {
    if (seen !== BATCH) throw new Error(`${seen} of ${BATCH} frames`);
    seen = 0;
  };
  return {
    quicrpc() {
      writer.position = 0;
      for (let id = 0; id < BATCH; id++) {
        writer.frame(FrameType.Item, id, () => writer.bytes(payload));
      }
      reader.push(writer.buffer.subarray(0, writer.position), 0, { onFrame: () => seen++ });
      expect();
    },
    "ws (WebSocket frames)"() {
      const out: Buffer[] = [];
      for (let i = 0; i < BATCH; i++) {
        out.push(
          ...Sender.frame(Buffer.from(payload.buffer), {
            fin: true,
            rsv1: false,
            opcode: 2,
            mask: false,
            readOnly: false,
          }),
        );
      }
      receiver.write(Buffer.concat(out));
      expect();
    },
  };
}

function callTable(): Record<string, () => void> {
  const table = new CallTable<object>(1 << 16);
  const map = new Map<number, object>();
  const entry = {};
  let next = 0;
  return {
    quicrpc() {
      const ids = Array.from({ length: BATCH }, () => table.add(entry));
      for (const id of ids) {
        if (table.get(id) !== entry) throw new Error("lost");
        table.release(id);
      }
    },
    "Map by a growing id"() {
      const ids = Array.from({ length: BATCH }, () => {
        map.set(next, entry);
        return next++;
      });
      for (const id of ids) {
        if (map.get(id) !== entry) throw new Error("lost");
        map.delete(id);
      }
    },
  };
}

class Target extends RpcTarget {
  multiply({ a, b }: { a: number; b: number }): { pro: number } {
    return { pro: a * b };
  }
}

/** Measures a call of `multiply` within one process, through everything except a network. */
async function dispatch(): Promise<void> {
  const [here, there] = createMemoryPair();
  const multiply = ({ a, b }: { a: number; b: number }): { pro: number } => ({ pro: a * b });
  function* items({ count }: { count: number }): Generator<{ i: number }> {
    for (let i = 0; i < count; i++) yield { i };
  }
  const nothing = (): never => {
    throw new Error("not called");
  };
  const calls = { empty: nothing, echo: nothing, wait: nothing, tell: nothing, told: nothing };
  const rest = { ...calls, upload: nothing, pipe: nothing };
  createSession(there, { routers: [createBenchRouter({ ...rest, multiply, items })] });
  const session = createSession(here);
  const quicrpc = createBenchClient(session);

  const Factors = z.object({ a: z.int(), b: z.int() });
  const Product = z.object({ pro: z.int() });
  const service = { name: "bench.v1.Interpreted", id: 2 };
  const method = defineMethod(service, "unary", "multiply", {
    id: 1,
    input: zodCodec(Factors),
    output: zodCodec(Product),
  });
  const [near, far] = createMemoryPair();
  createSession(far, { routers: [createRouter({ multiply: method }, { multiply })] });
  const interpreted = createSession(near);

  const handlers = {
    multiply,
    async *items(input: { count: number }) {
      yield* items(input);
    },
  };
  const transport = createRouterTransport(({ service: add }) => void add(connectBench(), handlers as never));
  const connect = createClient(connectBench(), transport) as unknown as UntypedBench;

  const { procedure, router, createCallerFactory } = initTRPC.create();
  const trpc = createCallerFactory(
    router({
      multiply: procedure
        .input(Factors)
        .output(Product)
        .mutation(({ input }) => multiply(input)),
    }),
  )({});

  const { port1, port2 } = new MessageChannel();
  newMessagePortRpcSession(port1, new Target());
  const capnweb = newMessagePortRpcSession(port2) as unknown as RpcStub<Target>;

  const all = (call: (b: number) => Promise<{ pro: number }>) => () =>
    Promise.all(Array.from({ length: BATCH }, (_, b) => call(b)));
  await measure("call in one process, 64 at once", BATCH, {
    quicrpc: all((b) => quicrpc.multiply({ a: 3, b })),
    "quicrpc, own stream each": all((b) => quicrpc.multiply({ a: 3, b }, { via: "stream" })),
    "quicrpc, schemas interpreted": all((b) => interpreted.unary(method, { a: 3, b })),
    "tRPC (createCaller, no bytes)": all((b) => trpc.multiply({ a: 3, b })),
    "connect-es (router transport)": all((b) => connect.multiply({ a: 3, b })),
    "capnweb (MessageChannel)": all((b) => capnweb.multiply({ a: 3, b })),
  });
  const drain = async (stream: AsyncIterable<{ i: number }>): Promise<void> => {
    let seen = 0;
    for await (const _ of stream) seen++;
    if (seen !== 100) throw new Error(`${seen} of 100 items`);
  };
  await measure("item of a server stream in one process", 100, {
    quicrpc: () => drain(quicrpc.items({ count: 100 })),
    "connect-es (router transport)": () => drain(connect.items({ count: 100 })),
  });
  port1.close();
  await Promise.all([session.close(), interpreted.close()]);
}

await measure("frame written and read, 32 bytes", BATCH, framing());
await measure("call added to the table and taken from it", BATCH, callTable());
await dispatch();
if (process.argv.includes("--json")) console.log(JSON.stringify(pieces));
else {
  console.table(pieces);
  console.table(await measureBatching());
}
process.exit();
