import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { benchMethods, createBenchClient, createBenchRouter } from "./generated/bench.js";

/** A code path whose cost is guarded. */
export interface HotPath {
  readonly name: string;
  /** Operations of one `run`. */
  readonly operations: number;
  /** Whether its CPU time includes so much of the system's that it says little about the code. */
  readonly system: boolean;
  run(this: void): Promise<void>;
}

const CALLS = 2_000;
const IN_FLIGHT = 50;
const ITEMS = 10_000;

const router = createBenchRouter({
  multiply: ({ a, b }) => ({ pro: a * b }),
  empty() {},
  echo: (bytes) => bytes,
  wait() {},
  tell() {},
  told: () => ({ count: 0 }),
  *items({ count }) {
    for (let i = 0; i < count; i++) yield { i };
  },
  async upload(chunks) {
    let bytes = 0;
    for await (const chunk of chunks) bytes += chunk.length;
    return { bytes };
  },
  pipe: (chunks) => chunks,
});

/**
 * Returns the paths. Both ends are in this process: connected by memory, by TLS and, if the engine is built, by QUIC.
 */
export async function hotPaths(): Promise<HotPath[]> {
  const [here, there] = createMemoryPair();
  createSession(there, { routers: [router] });
  const session = createSession(here);
  return [
    codec(),
    call(session, "lane"),
    call(session, "stream"),
    notify(session),
    items(session),
    ...(await over("quic", "QUIC", ["lane", "stream"])),
    ...(await over("tls", "TLS", ["lane"])),
  ];
}

function codec(): HotPath {
  const { input } = benchMethods.multiply;
  if (input === undefined) throw new Error("multiply has no input");
  const out = { buffer: new Uint8Array(64), position: 0, reserve(): void {} };
  return {
    name: "a message encoded and decoded",
    operations: ITEMS,
    system: false,
    async run() {
      for (let i = 0; i < ITEMS; i++) {
        out.position = 0;
        input.encode({ a: i, b: 3 }, out);
        if (input.decode(out.buffer, 0, out.position).a !== i) throw new Error("a wrong message");
      }
      return Promise.resolve();
    },
  };
}

function call(session: Session, via: "lane" | "stream", where = ""): HotPath {
  const bench = createBenchClient(session);
  return {
    name: `a call ${via === "lane" ? "on a lane" : "on a stream of its own"}${where}`,
    operations: CALLS,
    system: where !== "",
    async run() {
      for (let done = 0; done < CALLS; done += IN_FLIGHT) {
        const batch = Array.from({ length: IN_FLIGHT }, (_, b) => bench.multiply({ a: 3, b }, { via }));
        const pros = await Promise.all(batch);
        if (pros.some(({ pro }, b) => pro !== 3 * b)) throw new Error("a wrong product");
      }
    },
  };
}

function notify(session: Session): HotPath {
  const bench = createBenchClient(session);
  return {
    name: "a notification",
    operations: CALLS,
    system: false,
    async run() {
      for (let done = 0; done < CALLS; done += IN_FLIGHT) {
        await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => bench.tell({ i })));
      }
    },
  };
}

function items(session: Session): HotPath {
  const bench = createBenchClient(session);
  return {
    name: "an item of a stream",
    operations: ITEMS,
    system: false,
    async run() {
      let received = 0;
      for await (const { i } of bench.items({ count: ITEMS })) received += i === received ? 1 : 0;
      if (received !== ITEMS) throw new Error(`${received} of ${ITEMS} items`);
    },
  };
}

async function over(scheme: "quic" | "tls", name: string, ways: readonly ("lane" | "stream")[]): Promise<HotPath[]> {
  const tls = await devCertificate();
  try {
    // It rests while others have their turns.
    const transport = { idleTimeoutMs: 0 };
    const { urls } = await serve({
      listen: `${scheme}://127.0.0.1:0`,
      tls,
      routers: [router],
      advanced: { transport },
    });
    const { session } = await connect(urls[0] ?? "", { serverCertificateHashes: [tls.hash], advanced: { transport } });
    if (session === undefined) throw new Error("the session was lost");
    return ways.map((via) => call(session, via, `, over ${name}`));
  } catch (error) {
    console.log(`without calls over ${name}: ${String(error)}`);
    return [];
  }
}
