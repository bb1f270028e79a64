// The interceptors that core brings, in-process and by a virtual clock.
import {
  authentication,
  bearerToken,
  type TypedCaller,
  concurrencyLimit,
  ContextValue,
  createSession,
  defaultTimeout,
  type Interceptor,
  interceptCaller,
  interceptRouter,
  logging,
  retry,
  RpcError,
} from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { pino } from "pino";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { settle } from "../../packages/core/test/raw-peer.js";
import { collect, failure } from "../behaviour/tools.js";

const service = { name: "test.v1.Tried", id: 4670 };
const any = uncheckedCodec<unknown>();
const m = {
  get: defineMethod(service, "unary", "get", { id: 1, input: any, output: any, idempotent: true, meta: { cost: 3 } }),
  put: defineMethod(service, "unary", "put", { id: 2, input: any, output: any }),
  list: defineMethod(service, "server_stream", "list", { id: 3, input: any, output: any, idempotent: true }),
  add: defineMethod(service, "client_stream", "add", { id: 4, input: any, output: any, idempotent: true }),
};

type Handle = (input: unknown, context: { deadline: number | undefined }) => unknown;

/** A caller through `callers`, of handlers that are all `handle`, behind `callees`. */
function connect(
  handle: Handle,
  { callers = [], callees = [] }: { callers?: Interceptor[]; callees?: Interceptor[] },
): TypedCaller {
  const [here, there] = createMemoryPair();
  const router = createRouter(m, { get: handle, put: handle, list: handle, add: handle } as never);
  createSession(there, { routers: [interceptRouter(router, callees)], onError: () => {} });
  return interceptCaller(createSession(here), callers);
}

afterEach(() => {
  vi.useRealTimers();
});

it("an interceptor sees what the schema says of the method, on both sides", async () => {
  const seen: unknown[] = [];
  const see: Interceptor = (call, next) => {
    seen.push([call.side, call.method.name, call.method.meta]);
    return next(call);
  };
  const caller = connect((input) => input, { callers: [see], callees: [see] });
  await caller.unary(m.get, 1);
  await caller.unary(m.put, 1);
  expect(seen).toEqual([
    ["caller", "get", { cost: 3 }],
    ["callee", "get", { cost: 3 }],
    ["caller", "put", undefined],
    ["callee", "put", undefined],
  ]);
});

describe("retry", () => {
  const failures = (n: number, code: "unavailable" | "aborted" = "unavailable") => {
    const times: number[] = [];
    const handle = (input: unknown): unknown => {
      times.push(Date.now());
      if (times.length <= n) throw new RpcError(code, `attempt ${times.length}`);
      return input;
    };
    return { times, handle };
  };
  const full: Parameters<typeof retry>[0] = { initialDelayMs: 100, random: () => 1 };

  it("makes idempotent calls again, with delays that grow up to the largest", async () => {
    vi.useFakeTimers();
    const { times, handle } = failures(5);
    const client = connect(handle, { callers: [retry({ ...full, maxAttempts: 6, maxTokens: 20, maxDelayMs: 500 })] });
    const start = Date.now();
    const answer = client.unary(m.get, "x");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toBe("x");
    expect(times.map((time) => time - start)).toEqual([0, 100, 300, 700, 1200, 1700]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives up after maxAttempts, with the last error", async () => {
    const { times, handle } = failures(9);
    const client = connect(handle, { callers: [retry({ random: () => 0, maxAttempts: 3 })] });
    expect(await failure(client.unary(m.get, "x"))).toMatchObject({ message: "attempt 3" });
    expect(times).toHaveLength(3);
  });

  it.each([
    ["a method that is not idempotent", m.put, "unavailable"],
    ["another code", m.get, "aborted"],
  ] as const)("leaves %s alone", async (_, method, code) => {
    const { times, handle } = failures(1, code);
    const client = connect(handle, { callers: [retry({ random: () => 0 })] });
    expect(await failure(client.unary(method, "x"))).toMatchObject({ code });
    expect(times).toHaveLength(1);
  });

  it("makes any call again that no handler was entered for", async () => {
    let refusals = 2;
    const refuse: Interceptor = (call, next) =>
      refusals-- > 0 ? Promise.reject(new RpcError("resource_exhausted", "full", { refused: true })) : next(call);
    const client = connect((input) => input, { callers: [retry({ random: () => 0 }), refuse] });
    expect(await client.unary(m.put, "x")).toBe("x");
  });

  it("ends with the deadline and with the signal", async () => {
    vi.useFakeTimers();
    const { times, handle } = failures(9);
    const client = connect(handle, { callers: [retry(full)] });
    const late = failure(client.unary(m.get, "x", { timeoutMs: 250 }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await late).toMatchObject({ code: "unavailable", message: "attempt 2" });
    expect(times).toHaveLength(2);
    const abort = new AbortController();
    const cancelled = failure(client.unary(m.get, "x", { signal: abort.signal }));
    await vi.advanceTimersByTimeAsync(50);
    abort.abort();
    expect(await cancelled).toMatchObject({ code: "cancelled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stops when half of the tokens are spent, and goes on when calls succeed", async () => {
    let broken = true;
    let calls = 0;
    const handle = (): unknown => {
      calls++;
      if (broken) throw new RpcError("unavailable", "broken");
      return null;
    };
    const client = connect(handle, { callers: [retry({ random: () => 0, maxTokens: 6, maxAttempts: 9 })] });
    for (let i = 0; i < 5; i++) await failure(client.unary(m.get, "x"));
    // Five first attempts and two retries: failures without a retry take tokens too.
    expect(calls).toBe(7);
    broken = false;
    for (let i = 0; i < 50; i++) await client.unary(m.get, "x");
    broken = true;
    calls = 0;
    await failure(client.unary(m.get, "x"));
    expect(calls).toBe(2);
  });

  it("waits as long as the callee says, or makes no call again where it says so", async () => {
    vi.useFakeTimers();
    const times: number[] = [];
    const handle = (input: unknown): unknown => {
      times.push(Date.now());
      if (times.length > 2) return input;
      throw new RpcError("unavailable", "busy", { metadata: { "retry-after-ms": String(input) } });
    };
    const client = connect(handle, { callers: [retry({ ...full, maxAttempts: 9 })] });
    const start = Date.now();
    const answer = client.unary(m.get, "700");
    await vi.advanceTimersByTimeAsync(2000);
    await answer;
    expect(times.map((time) => time - start)).toEqual([0, 700, 1400]);
    times.length = 0;
    expect(await failure(client.unary(m.get, "-1"))).toMatchObject({ message: "busy" });
    expect(times).toHaveLength(1);
  });

  it("makes a stream again until its first item, and no call whose caller streams", async () => {
    let attempts = 0;
    const list = async function* (): AsyncIterable<unknown> {
      attempts++;
      if (attempts === 1) throw new RpcError("unavailable", "before");
      yield "item";
      throw new RpcError("unavailable", "after");
    };
    const client = connect(list, { callers: [retry({ random: () => 0 })] });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const item of client.serverStream(m.list, null)) seen.push(item);
    })();
    expect(await failure(reading)).toMatchObject({ message: "after" });
    expect(seen).toEqual(["item"]);
    expect(attempts).toBe(2);

    const { times, handle } = failures(1);
    const adding = connect(handle, { callers: [retry({ random: () => 0 })] });
    expect(await failure(adding.clientStream(m.add, [1]))).toMatchObject({ message: "attempt 1" });
    expect(times).toHaveLength(1);
  });
});

describe("logging", () => {
  type Logger = Parameters<typeof logging>[0];
  type Line = { level: string; fields: { durationMs: number; err?: unknown }; message: string };
  const recording = (lines: Line[]): Logger => {
    const at = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, fields: fields as Line["fields"], message });
    return { info: at("info"), warn: at("warn"), error: at("error") };
  };

  it("writes one line for each call when it is over, on both sides", async () => {
    const lines: Line[] = [];
    const handle = (input: unknown): unknown => {
      if (input === "crash") throw new Error("the secret");
      if (input === "fail") throw new RpcError("not_found", "no such thing");
      return input;
    };
    const log = logging(recording(lines));
    const client = connect(handle, { callers: [log], callees: [log] });
    await client.unary(m.get, "x");
    await failure(client.unary(m.get, "fail"));
    await failure(client.unary(m.get, "crash"));
    const listing = connect(() => ["a", "b"], { callers: [log] });
    await collect(listing.serverStream(m.list, null));
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "info served test.v1.Tried/get: ok",
      "info called test.v1.Tried/get: ok",
      "warn served test.v1.Tried/get: not_found",
      "warn called test.v1.Tried/get: not_found",
      "error served test.v1.Tried/get: internal",
      "error called test.v1.Tried/get: internal",
      "info called test.v1.Tried/list: ok",
    ]);
    expect(lines[4]?.fields.err).toMatchObject({ message: "the secret" });
    expect(lines[6]?.fields).toMatchObject({ side: "caller", method: "test.v1.Tried/list", code: "ok", items: 2 });
    for (const { fields } of lines) expect(fields.durationMs).toBeGreaterThanOrEqual(0);
  });

  it("takes pino, which writes the error of a call with its stack", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "info", base: null }, { write: (line) => void lines.push(line) });
    const handle = (input: unknown): unknown => {
      if (input === "crash") throw new TypeError("the secret");
      if (input === "fail") throw new RpcError("not_found", "no such thing");
      return input;
    };
    const client = connect(handle, { callees: [logging(logger)] });
    await client.unary(m.get, "x");
    await failure(client.unary(m.get, "fail"));
    await failure(client.unary(m.get, "crash"));
    const common = { side: "callee", method: "test.v1.Tried/get", durationMs: expect.any(Number) as number };
    const stack = expect.stringContaining("interceptors.test.ts") as string;
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ...common, time: expect.any(Number) as number, level: 30, code: "ok", msg: "served test.v1.Tried/get: ok" },
      expect.objectContaining({
        ...common,
        level: 40,
        code: "not_found",
        err: expect.objectContaining({ message: "no such thing", code: "not_found", stack }) as object,
        msg: "served test.v1.Tried/get: not_found",
      }),
      expect.objectContaining({
        ...common,
        level: 50,
        code: "internal",
        err: { type: "TypeError", message: "the secret", stack },
        msg: "served test.v1.Tried/get: internal",
      }),
    ]);
  });

  it("writes one line of text for each call to the console", async () => {
    const lines: unknown[][] = [];
    for (const level of ["info", "warn", "error"] as const)
      vi.spyOn(console, level).mockImplementation((...line) => void lines.push([level, ...(line as unknown[])]));
    onTestFinished(() => void vi.restoreAllMocks());
    const handle = (input: unknown): unknown => {
      if (input === "fail") throw new RpcError("not_found", "no such\nthing");
      return input;
    };
    const client = connect(handle, { callees: [logging(console)] });
    await client.unary(m.get, "x");
    await failure(client.unary(m.get, "fail"));
    expect(lines).toEqual([
      ["info", expect.stringMatching(/^served test.v1.Tried\/get: ok \(\d+\.\d ms\)$/)],
      ["warn", expect.stringMatching(/^served test.v1.Tried\/get: not_found \(\d+\.\d ms, no such\\u\{a\}thing\)$/)],
    ]);
  });
});

describe("concurrencyLimit", () => {
  it("lets so many calls in, queues so many, and refuses the rest; streams count until they are over", async () => {
    const release: (() => void)[] = [];
    const handle = (): unknown => new Promise<null>((resolve) => release.push(() => resolve(null)));
    const client = connect(handle, { callees: [concurrencyLimit({ maxCalls: 2, maxQueued: 1 })] });
    const calls = [1, 2, 3].map(() => client.unary(m.get, null));
    const refused = await failure(client.unary(m.get, null));
    expect(refused).toMatchObject({ code: "resource_exhausted" });
    expect(refused.message).toContain("maxCalls");
    expect(release).toHaveLength(2);
    release[0]?.();
    await calls[0];
    await settle();
    expect(release).toHaveLength(3);
    for (const finish of release) finish();
    await Promise.all(calls);

    const items = connect(() => [1, 2], { callers: [concurrencyLimit({ maxCalls: 1 })] });
    const first = items.serverStream(m.list, null);
    await settle();
    expect(await failure(items.unary(m.get, null))).toMatchObject({ code: "resource_exhausted" });
    expect(await collect(first)).toEqual([1, 2]);
    expect(await items.serverStream(m.list, null)[Symbol.asyncIterator]().return?.()).toMatchObject({ done: true });
    await settle();
    expect(await collect(items.serverStream(m.list, null))).toEqual([1, 2]);
  });

  it("a call that waits for its turn can be cancelled", async () => {
    const client = connect(() => new Promise(() => {}), { callers: [concurrencyLimit({ maxCalls: 1, maxQueued: 1 })] });
    void client.unary(m.get, null).catch(() => {});
    const abort = new AbortController();
    const waiting = client.unary(m.get, null, { signal: abort.signal });
    await settle();
    abort.abort();
    expect(await failure(waiting)).toMatchObject({ code: "cancelled" });
  });
});

describe("defaultTimeout", () => {
  it("gives calls without a deadline one, by method", async () => {
    const client = connect((_, { deadline }) => (deadline === undefined ? null : deadline - Date.now()), {
      callers: [defaultTimeout((method) => (method.name === "get" ? 60_000 : undefined))],
    });
    expect(await client.unary(m.get, null)).toBeGreaterThan(30_000);
    expect(await client.unary(m.get, null, { timeoutMs: 5000 })).toBeLessThanOrEqual(5000);
    expect(await client.unary(m.put, null)).toBeNull();
  });

  it("gives streams of answers none, and leaves those that they have", async () => {
    const seen: (number | undefined)[] = [];
    const handle: Handle = (_, { deadline }) => {
      seen.push(deadline);
      return [1];
    };
    const client = connect(handle, { callers: [defaultTimeout(60_000)] });
    await collect(client.serverStream(m.list, null));
    await collect(client.serverStream(m.list, null, { timeoutMs: 5000 }));
    expect(seen.map((deadline) => deadline !== undefined)).toEqual([false, true]);
  });
});

describe("authentication", () => {
  const identity = new ContextValue<string>("identity");
  const callees = [
    authentication<string>({
      verify: (token) => {
        if (token === "broken") throw new Error("cannot decode");
        if (token === "banned") throw new RpcError("permission_denied", "banned");
        return token === "secret" ? "ada" : undefined;
      },
      identity,
      isPublic: ({ method }) => method.name === "put",
    }),
  ];
  const whoAmI = (_: unknown, context: unknown): unknown => identity.get(context as never);

  it("lets calls with a valid token through, and tells the handler who calls", async () => {
    let given = "secret";
    const client = connect(whoAmI, { callers: [bearerToken(async () => given)], callees });
    expect(await client.unary(m.get, null)).toBe("ada");
    const own = { metadata: { authorization: "Bearer banned" } };
    expect(await failure(client.unary(m.get, null, own))).toMatchObject({
      code: "permission_denied",
      message: "banned",
    });
    for (given of ["wrong", "broken"]) {
      expect(await failure(client.unary(m.get, null))).toMatchObject({
        code: "unauthenticated",
        message: "the bearer token is not valid",
      });
    }
  });

  it("asks for a token, except where the method is public", async () => {
    const client = connect((input) => input, { callees });
    expect(await failure(client.unary(m.get, null))).toMatchObject({ code: "unauthenticated" });
    expect(await client.unary(m.put, "open")).toBe("open");
  });
});
