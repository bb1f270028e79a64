// How resumable calls end that no session carries, or that cannot continue.
import {
  type Connection,
  createConnection,
  createSession,
  interceptCaller,
  type RpcError,
  type Session,
} from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { meanwhile, pass, startVirtualTime } from "../../core/test/virtual-time.js";
import { durableRouter, resumableCalls } from "../src/generated.js";

const service = { name: "test.v1.Kept", id: 80 };
const number = uncheckedCodec<number>();
const methods = {
  live: defineMethod(service, "server_stream", "live", { id: 1, output: number, extension: resumableCalls }),
  sum: defineMethod(service, "client_stream", "sum", {
    id: 4,
    input: number,
    output: number,
    extension: resumableCalls,
  }),
};
const newRouter = () =>
  durableRouter(
    createRouter(methods, {
      async *live(_, { signal }) {
        yield 1;
        if (signal.aborted) return;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      sum: async (items) => {
        let sum = 0;
        for await (const item of items) sum += item;
        return sum;
      },
    }),
  );
const shared = newRouter();

let connection: Connection;
let served: Session[];
beforeEach(() => {
  startVirtualTime();
  served = [];
});
afterEach(async () => {
  await connection.close({ closeCode: 1 });
  vi.useRealTimers();
});

/** @param isFleet true if each session leads to another server */
function connected(wrap: (session: Session) => Session = (session) => session, isFleet: boolean = false): Connection {
  connection = createConnection(async () => {
    const [ours, theirs] = createMemoryPair();
    const routers = [isFleet ? newRouter() : shared];
    served.push(createSession(theirs, { routers, onError: () => {} }));
    return wrap(createSession(ours));
  });
  return connection;
}

const intercepted = (session: Session): Session => interceptCaller(session, [(call, next) => next(call)]);

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  meanwhile(
    promise.then(
      () => "none",
      (error: RpcError) => error.code,
    ),
  );

it("a resumable call whose metadata is too large leaves no call in progress", async () => {
  const session = await connected().ready();
  for (let i = 0; i < 3; i++) {
    const items = connection.serverStream(methods.live, undefined, { metadata: { large: "a".repeat(200_000) } });
    expect(await codeOf(items.values().next())).toBe("resource_exhausted");
  }
  await pass(10);
  expect(session.callsMade?.()).toBe(0);
});

describe("a resumable call on a session with interceptors", () => {
  it("has its answer", async () => {
    const items = connected(intercepted).serverStream(methods.live, undefined).values();
    expect(await meanwhile(items.next())).toEqual({ value: 1, done: false });
    await items.return?.();
    expect(await meanwhile(connection.clientStream(methods.sum, [1, 2]))).toBe(3);
    await pass(10);
    expect(connection.session?.callsMade?.()).toBe(0);
  });

  it("ends with its deadline and its signal", async () => {
    connected(intercepted);
    const abort = new AbortController();
    for (const [options, code] of [
      [{ timeoutMs: 20 }, "deadline_exceeded"],
      [{ signal: abort.signal }, "cancelled"],
    ] as const) {
      const items = connection.serverStream(methods.live, undefined, options).values();
      await meanwhile(items.next());
      const failed = codeOf(items.next());
      if (code === "cancelled") abort.abort();
      expect(await failed).toBe(code);
    }
  });
});

describe("a resumable call at the deadline of a server that ends", () => {
  it("fails at once, and says that it goes on nowhere", async () => {
    const items = connected(undefined, true).serverStream(methods.live, undefined).values();
    expect((await meanwhile(items.next())).value).toBe(1);
    void served.at(-1)?.drain({ timeoutMs: 1000, final: true });
    const failed = items.next().catch((error: unknown) => error);
    await pass(1001);
    expect(await failed).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/cannot be resumed/) as string,
      method: "test.v1.Kept/live",
      hint: expect.stringContaining("cursors") as string,
    });
    expect(connection.state).toEqual({ status: "ready" });
  });

  it("goes on at the same server where only its session drained", async () => {
    const items = connected(undefined, true).serverStream(methods.live, undefined).values();
    expect((await meanwhile(items.next())).value).toBe(1);
    void served.at(-1)?.drain({ timeoutMs: 1000 });
    let failure: unknown;
    items.next().catch((error: unknown) => {
      failure = error;
    });
    await pass(1001);
    // Each session of this test is a server of its own, which does not know the call: it was asked.
    await pass(1000);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/may have run: this server does not have it/) as string,
    });
  });
});
