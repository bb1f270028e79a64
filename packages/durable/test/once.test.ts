// Calls of methods that are `once`, in-process.
import {
  createSession,
  interceptCaller,
  type Interceptor,
  interceptRouter,
  retry,
  RpcError,
  rpcError,
  type Session,
} from "@quicrpc/core";
import type { ErrorHook } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";
import {
  createOnceKey,
  MemoryOnceStore,
  onceFailure,
  type OnceIdentity,
  type OnceOptions,
  type OnceStore,
} from "@quicrpc/durable";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { durableRouter, onceCalls } from "@quicrpc/durable/generated";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/behaviour/tools.js";

const service = { name: "test.v1.Once", id: 4711 };
const Order = z.object({ amount: z.int(), at: z.date().optional() });
const Receipt = z.object({ number: z.int(), at: z.date(), total: z.string() });
const errors = { BROKE: { code: "failed_precondition", details: zodCodec(z.object({ since: z.date() })) } } as const;
const methods = {
  charge: defineMethod(service, "unary", "charge", {
    id: 1,
    input: zodCodec(Order),
    output: zodCodec(Receipt),
    errors,
    extension: onceCalls,
  }),
  refund: defineMethod(service, "unary", "refund", {
    id: 2,
    input: zodCodec(Order),
    output: zodCodec(Receipt),
    extension: onceCalls,
  }),
};

type Charge = (amount: number, run: { signal: AbortSignal; once: OnceIdentity | undefined }) => unknown;

/** A server whose handler counts what it did. */
class Shop {
  readonly effects: number[] = [];
  readonly problems: unknown[] = [];
  readonly seen: (OnceIdentity | undefined)[] = [];
  do: Charge = () => undefined;
  private readonly once: OnceOptions | undefined;
  private readonly router;

  constructor(once?: OnceOptions) {
    this.once = once;
    const charge = async (
      { amount }: { amount: number },
      run: { signal: AbortSignal; once: OnceIdentity | undefined },
    ) => {
      this.seen.push(run.once);
      this.effects.push(amount);
      await this.do(amount, run);
      return { number: this.effects.length, at: new Date(5), total: String(amount) };
    };
    this.router = durableRouter(createRouter(methods, { charge, refund: charge }));
  }

  connect(connection?: unknown, around: readonly Interceptor[] = []): { client: Session; server: Session } {
    const [near, far] = createMemoryPair();
    const onError: ErrorHook = (error) => void this.problems.push(error);
    const routers = [interceptRouter(this.router, around)];
    const server = createSession(far, { routers, connection, onError, ...(this.once && { once: this.once }) });
    return { client: createSession(near), server };
  }
}

const anHour = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a call of a method that is once", () => {
  it("has a key by itself: two calls are two effects", async () => {
    const shop = new Shop();
    const { client } = shop.connect();
    expect(await client.unary(methods.charge, { amount: 7 })).toEqual({ number: 1, at: new Date(5), total: "7" });
    expect(await client.unary(methods.charge, { amount: 7 })).toMatchObject({ number: 2 });
    const [first, second] = shop.seen;
    expect(first?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(first?.id).not.toBe(second?.id);
  });

  it("that is made again is answered as the first was, over another session too, and says so", async () => {
    const shop = new Shop();
    const onceKey = createOnceKey();
    const first = await shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    let replayed: string | undefined;
    const onResponseMetadata = (said: { get(key: string): string | undefined }): void => {
      replayed = said.get("idempotent-replayed");
    };
    const options = { onceKey, onResponseMetadata: onResponseMetadata as never };
    expect(await shop.connect().client.unary(methods.charge, { amount: 7 }, options)).toEqual(first);
    expect(replayed).toBe("true");
    expect(shop.effects).toEqual([7]);
  });

  it("joins the one that runs, and gets the same answer", async () => {
    const shop = new Shop();
    let finish = (): void => {};
    shop.do = () => new Promise<void>((resolve) => (finish = resolve));
    const onceKey = createOnceKey();
    const calls = [1, 2, 3].map(() => shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey }));
    await vi.advanceTimersByTimeAsync(1000);
    finish();
    await vi.advanceTimersByTimeAsync(1000);
    for (const call of calls) expect(await call).toMatchObject({ number: 1 });
    expect(shop.effects).toEqual([7]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("joins the one that another server runs", async () => {
    const store = new MemoryOnceStore();
    const [here, there] = [new Shop({ store }), new Shop({ store })];
    let finish = (): void => {};
    here.do = () => new Promise<void>((resolve) => (finish = resolve));
    const onceKey = createOnceKey();
    const first = here.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(1);
    const second = there.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    // Longer than a lease, which is renewed.
    await vi.advanceTimersByTimeAsync(60_000);
    finish();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await second).toEqual(await first);
    expect(there.effects).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("runs where the one that it joined on another server was refused", async () => {
    const store = new MemoryOnceStore();
    const [here, there] = [new Shop({ store }), new Shop({ store })];
    let refuse = (): void => {};
    here.do = () =>
      new Promise<void>((_, reject) => {
        refuse = () => reject(new RpcError("unavailable", "nothing ran", { refused: true }));
      });
    const onceKey = createOnceKey();
    const first = failure(here.connect().client.unary(methods.charge, { amount: 7 }, { onceKey }));
    await vi.advanceTimersByTimeAsync(1);
    const second = there.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(1000);
    refuse();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await first).toMatchObject({ code: "unavailable" });
    expect(await second).toMatchObject({ number: 1 });
    expect(there.effects).toEqual([7]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails alone where it joined and its own caller leaves", async () => {
    const shop = new Shop();
    let finish = (): void => {};
    shop.do = () => new Promise<void>((resolve) => (finish = resolve));
    const onceKey = createOnceKey();
    const first = shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(1);
    const abort = new AbortController();
    const options = { onceKey, signal: abort.signal };
    const second = failure(shop.connect().client.unary(methods.charge, { amount: 7 }, options));
    const third = failure(shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey, timeoutMs: 50 }));
    await vi.advanceTimersByTimeAsync(30);
    abort.abort();
    await vi.advanceTimersByTimeAsync(30);
    expect(await second).toMatchObject({ code: "cancelled" });
    expect(await third).toMatchObject({ code: "deadline_exceeded" });
    finish();
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toMatchObject({ number: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("runs to its end when its caller is lost, and answers who comes back", async () => {
    const shop = new Shop();
    let finish = (): void => {};
    let signal: AbortSignal | undefined;
    shop.do = (_, run) => {
      ({ signal } = run);
      return new Promise<void>((resolve) => (finish = resolve));
    };
    const onceKey = createOnceKey();
    const { client } = shop.connect();
    const lost = failure(client.unary(methods.charge, { amount: 7 }, { onceKey }));
    await vi.advanceTimersByTimeAsync(1);
    void client.close({ closeCode: 7 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await lost).toMatchObject({ code: "unavailable" });
    expect(signal?.aborted).toBe(false);
    const back = shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(100);
    finish();
    await vi.advanceTimersByTimeAsync(100);
    expect(await back).toMatchObject({ number: 1 });
    expect(shop.effects).toEqual([7]);
  });

  it("keeps errors: a declared one with its details, and what a handler should not have thrown", async () => {
    const shop = new Shop();
    const onceKey = createOnceKey();
    shop.do = (amount) => {
      if (amount === 1) throw rpcError(methods.charge, "BROKE", { since: new Date(9) });
      throw new Error("secret");
    };
    const charge = (amount: number, key: string) =>
      failure(shop.connect().client.unary(methods.charge, { amount }, { onceKey: key }));
    const broke = { code: "failed_precondition", reason: "BROKE", details: { since: new Date(9) } };
    expect(await charge(1, onceKey)).toMatchObject(broke);
    expect(await charge(1, onceKey)).toMatchObject(broke);
    const other = createOnceKey();
    expect(await charge(2, other)).toMatchObject({ code: "internal", message: "the handler failed" });
    expect(await charge(2, other)).toMatchObject({ code: "internal", message: "the handler failed" });
    expect(shop.effects).toEqual([1, 2]);
    expect(shop.problems).toHaveLength(1);
  });

  it("fails where its key comes with another input, while it runs and later", async () => {
    const shop = new Shop();
    let finish = (): void => {};
    shop.do = () => new Promise<void>((resolve) => (finish = resolve));
    const onceKey = createOnceKey();
    const first = shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(1);
    const other = () => failure(shop.connect().client.unary(methods.charge, { amount: 8 }, { onceKey }));
    const early = await other();
    expect(early).toMatchObject({ code: "invalid_argument" });
    expect(onceFailure(early)).toBe("mismatch");
    finish();
    await first;
    expect(onceFailure(await other())).toBe("mismatch");
    expect(shop.effects).toEqual([7]);
  });

  it("is another call of another method, and of another principal", async () => {
    const shop = new Shop({ principal: ({ connection }) => (connection as { id: string }).id });
    const onceKey = createOnceKey();
    const ann = shop.connect({ id: "ann" }).client;
    await ann.unary(methods.charge, { amount: 1 }, { onceKey });
    await ann.unary(methods.refund, { amount: 1 }, { onceKey });
    await shop.connect({ id: "bob" }).client.unary(methods.charge, { amount: 2 }, { onceKey });
    await shop.connect({ id: "bob" }).client.unary(methods.charge, { amount: 2 }, { onceKey });
    expect(shop.effects).toEqual([1, 1, 2]);
  });

  it("fails where nobody said whose keys are, and where there is none that says its time", async () => {
    const shop = new Shop();
    expect(await failure(shop.connect({ id: "ann" }).client.unary(methods.charge, { amount: 1 }))).toMatchObject({
      code: "internal",
    });
    expect(String(shop.problems[0])).toContain("could not determine the principal of the keys");
    const call = failure(shop.connect().client.unary(methods.charge, { amount: 1 }, { onceKey: "order-1" }));
    expect(onceFailure(await call)).toBe("malformed");
    expect(shop.effects).toEqual([]);
  });

  it("does not remember what was refused before its handler", async () => {
    const shop = new Shop();
    let open = false;
    const door: Interceptor = (call, next) => {
      if (!open) throw new RpcError("unauthenticated", "sign in first");
      return next(call);
    };
    const { client } = shop.connect(undefined, [door]);
    const onceKey = createOnceKey();
    const call = () => client.unary(methods.charge, { amount: 7 }, { onceKey });
    expect(await failure(call())).toMatchObject({ code: "unauthenticated" });
    expect(await failure(client.unary(methods.charge, { amount: 0.5 }, { onceKey }))).toMatchObject({
      code: "invalid_argument",
    });
    open = true;
    shop.do = () => {
      throw new RpcError("resource_exhausted", "full", { refused: true });
    };
    expect(await failure(call())).toMatchObject({ code: "resource_exhausted" });
    shop.do = () => undefined;
    expect(await call()).toMatchObject({ total: "7" });
  });

  it("is not run where its key is older than records, although the record is gone; the first call with it is", async () => {
    const shop = new Shop({ recordForMs: anHour });
    const onceKey = createOnceKey();
    const { client } = shop.connect();
    await client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(anHour * 3);
    const late = await failure(client.unary(methods.charge, { amount: 7 }, { onceKey }));
    expect(late).toMatchObject({ code: "failed_precondition" });
    expect(onceFailure(late)).toBe("expired");
    expect(shop.effects).toEqual([7]);
    const old = createOnceKey(Date.now() - 2 * anHour);
    const metadata = { "idempotency-key": `${old};first` };
    await client.unary(methods.charge, { amount: 8 }, { metadata });
    expect(onceFailure(await failure(client.unary(methods.charge, { amount: 9 }, { onceKey: old })))).toBe("mismatch");
    const ahead = { onceKey: createOnceKey(Date.now() + 2 * anHour) };
    expect(onceFailure(await failure(client.unary(methods.charge, { amount: 9 }, ahead)))).toBe("malformed");
  });

  it("keeps the record of a key of a clock that is ahead as long as the key may be used", async () => {
    const shop = new Shop({ recordForMs: anHour });
    const onceKey = createOnceKey(Date.now() + anHour * 0.9);
    const { client } = shop.connect();
    await client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(anHour * 1.85);
    expect(await client.unary(methods.charge, { amount: 7 }, { onceKey })).toMatchObject({ number: 1 });
  });

  it("whose server is gone has an outcome that is unknown, not a second run", async () => {
    const store = new MemoryOnceStore();
    // A process that was killed: nobody renews its lease.
    const killed = new Shop({
      store: Object.assign(Object.create(store) as OnceStore, { renew: () => never(), settle: () => never() }),
    });
    killed.do = () => never();
    const onceKey = createOnceKey();
    void killed.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(1);
    const alive = new Shop({ store });
    const joined = failure(alive.connect().client.unary(methods.charge, { amount: 7 }, { onceKey }));
    await vi.advanceTimersByTimeAsync(12_000);
    expect(await joined).toMatchObject({ code: "aborted" });
    expect(onceFailure(await joined)).toBe("unknown");
    expect(alive.effects).toEqual([]);
  });

  it("that outlives its lease is told by its signal, and its answer is known when it wakes", async () => {
    const store = new MemoryOnceStore();
    let renewing = true;
    const renew: OnceStore["renew"] = (id, owner, ms) => (renewing ? store.renew(id, owner, ms) : never());
    const shop = new Shop({ store: Object.assign(Object.create(store) as OnceStore, { renew }) });
    let finish = (): void => {};
    let signal: AbortSignal | undefined;
    shop.do = (_, run) => {
      ({ signal } = run);
      return new Promise<void>((resolve) => (finish = resolve));
    };
    const onceKey = createOnceKey();
    const first = shop.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(signal?.aborted).toBe(false);
    renewing = false;
    await vi.advanceTimersByTimeAsync(11_000);
    expect(signal?.aborted).toBe(true);
    const other = new Shop({ store });
    const charge = () => other.connect().client.unary(methods.charge, { amount: 7 }, { onceKey });
    expect(onceFailure(await failure(charge()))).toBe("unknown");
    finish();
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toMatchObject({ number: 1 });
    expect(await charge()).toMatchObject({ number: 1 });
    expect(other.effects).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is answered although the store fails when it ends; made again, its outcome is unknown", async () => {
    const store = new MemoryOnceStore();
    const settle: OnceStore["settle"] = () => Promise.reject(new Error("down"));
    const shop = new Shop({ leaseMs: 1000, store: Object.assign(Object.create(store) as OnceStore, { settle }) });
    const onceKey = createOnceKey();
    const { client } = shop.connect();
    const first = client.unary(methods.charge, { amount: 7 }, { onceKey });
    await vi.advanceTimersByTimeAsync(3000);
    expect(await first).toMatchObject({ number: 1 });
    expect(String(shop.problems[0])).toContain("could not be stored");
    expect(onceFailure(await failure(client.unary(methods.charge, { amount: 7 }, { onceKey })))).toBe("unknown");
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("down"))],
    ["does not answer", never],
  ])("is not run where the store %s", async (_, claim) => {
    const store = new MemoryOnceStore();
    const shop = new Shop({ leaseMs: 1000, store: Object.assign(Object.create(store) as OnceStore, { claim }) });
    const call = failure(shop.connect().client.unary(methods.charge, { amount: 7 }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await call).toMatchObject({ code: "unavailable" });
    expect(shop.effects).toEqual([]);
    expect(shop.problems).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("keeps that there was an answer where that is too large", async () => {
    const shop = new Shop({ maxRecordBytes: 8 });
    const onceKey = createOnceKey();
    const { client } = shop.connect();
    await client.unary(methods.charge, { amount: 7 }, { onceKey });
    const again = await failure(client.unary(methods.charge, { amount: 7 }, { onceKey }));
    expect(again).toMatchObject({ message: expect.stringContaining("it ended well") as string });
    expect(shop.effects).toEqual([7]);
  });

  it("is only of unary methods", () => {
    const wrong = () => defineMethod(service, "server_stream", "watch", { id: 9, extension: onceCalls });
    expect(wrong).toThrow(/once is for unary methods/);
  });
});

describe("retry", () => {
  it("makes a call again by its own key after a loss, and says that it is a repetition", async () => {
    const shop = new Shop();
    const keys: unknown[] = [];
    const see: Interceptor = (call, next) => {
      keys.push(call.metadata.get("idempotency-key"));
      return next(call);
    };
    let losses = 2;
    const lose: Interceptor = async (call, next) => {
      const answer = await next(call);
      if (losses-- > 0) throw new RpcError("unavailable", "the session was lost");
      return answer;
    };
    const client = interceptCaller(shop.connect().client, [retry({ random: () => 0 }), see, lose]);
    const answer = client.unary(methods.charge, { amount: 7 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await answer).toMatchObject({ number: 1 });
    expect(shop.effects).toEqual([7]);
    expect(keys).toHaveLength(3);
    expect(keys[0]).toBe(`${String(keys[1])};first`);
    expect(keys[2]).toBe(keys[1]);
  });

  it("goes on saying that a call is the first while none has reached a handler", async () => {
    const shop = new Shop();
    const keys: unknown[] = [];
    let refusals = 2;
    const refuse: Interceptor = (call, next) => {
      keys.push(call.metadata.get("idempotency-key"));
      if (refusals-- > 0) throw new RpcError("resource_exhausted", "full", { refused: true });
      return next(call);
    };
    const client = interceptCaller(shop.connect().client, [retry({ random: () => 0 }), refuse]);
    const answer = client.unary(methods.charge, { amount: 7 });
    await vi.advanceTimersByTimeAsync(100);
    await answer;
    expect(new Set(keys).size).toBe(1);
    expect(String(keys[0])).toMatch(/;first$/);
  });
});

function never(): Promise<never> {
  return new Promise(() => {});
}
