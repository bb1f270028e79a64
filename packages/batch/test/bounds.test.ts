// What a batch may take of a server: time of the event loop, calls in progress, frames.
import { createLocalCaller, createSession, rpcError, type RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, type MessageCodec, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { type BatchLimits, createBatch, createBatches } from "@quicrpc/batch";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/behaviour/tools.js";

const service = { name: "bounds.v1.Bounds", id: 7304 };
const unknown = zodCodec(z.unknown());
let encodes = 0;
let onEncode: () => void = () => {};
/** Fails at the server after the references were replaced. */
const failing: MessageCodec<unknown> = {
  ...unknown,
  encode(value, out) {
    encodes++;
    onEncode();
    unknown.encode(value, out);
    throw new TypeError("the value does not fit");
  },
};
const methods = {
  list: defineMethod(service, "unary", "list", {
    id: 1,
    input: zodCodec(z.int()),
    output: zodCodec(z.array(z.int())),
  }),
  take: defineMethod(service, "unary", "take", { id: 2, input: failing }),
  hang: defineMethod(service, "unary", "hang", { id: 3 }),
  text: defineMethod(service, "unary", "text", { id: 4, input: zodCodec(z.int()), output: zodCodec(z.string()) }),
  fail: defineMethod(service, "unary", "fail", {
    id: 5,
    input: zodCodec(z.int()),
    errors: { LARGE: { code: "not_found", details: zodCodec(z.string()) } },
  }),
};
const services = { bounds: methods };

let hanging = 0;
let release: () => void;
let released: Promise<void>;
const router = createRouter(methods, {
  list: (length) => Array.from({ length }, (_, index) => index),
  take: () => {},
  hang: async () => {
    hanging++;
    await released;
    hanging--;
  },
  text: (length) => "x".repeat(length),
  fail: (length) => {
    throw rpcError(methods.fail, "LARGE", "y".repeat(length));
  },
});
const batchOf = (limits: BatchLimits = {}, signal?: AbortSignal) =>
  createBatch(createLocalCaller([router, createBatches(limits)]), services, { ...(signal && { signal }) });
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  encodes = 0;
  hanging = 0;
  onEncode = () => {};
  released = new Promise((resolve) => {
    release = resolve;
  });
});
afterEach(() => vi.useRealTimers());

describe("inputs that do not fit their schema", () => {
  it("count towards maxBytes before they are encoded", async () => {
    const batch = batchOf();
    const values = batch.bounds.list(1000);
    const all = batch.each(batch.bounds.list(100), () => batch.bounds.take([values]));
    expect(await failure(batch.send(all))).toMatchObject({ code: "invalid_argument" });
    // 1,001 values of 32 bytes each. The others follow the first failure, in further turns.
    await turns(200);
    expect(encodes).toBe(32);
  });

  it("are not encoded if a single one is too expensive", async () => {
    const batch = batchOf();
    const values = batch.bounds.list(1000);
    const all = batch.each(batch.bounds.list(100), () => batch.bounds.take(Array.from({ length: 64 }, () => values)));
    expect((await failure(batch.send(all))).message).toContain("maxBytes");
    await turns(200);
    expect(encodes).toBe(0);
  });

  it("are encoded in turns, so that the batch can be cancelled in between", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const stop = new AbortController();
    const batch = batchOf({}, stop.signal);
    const all = batch.each(batch.bounds.list(100), (element) => batch.bounds.take(element));
    onEncode = () => {
      if (encodes === 3) setImmediate(() => stop.abort());
      vi.advanceTimersByTime(6);
    };
    await failure(batch.send(all));
    await turns(200);
    expect(encodes).toBeLessThan(6);
  });
});

describe("handlers that run on after their batch was cancelled", () => {
  it("count as a call in progress", async () => {
    const [ours, theirs] = createMemoryPair();
    const served = createSession(theirs, { routers: [router, createBatches()], limits: { maxCalls: 1 } });
    const session = createSession(ours);
    const cancelled = async (): Promise<RpcError> => {
      const stop = new AbortController();
      const batch = createBatch(session, services, { signal: stop.signal });
      for (let call = 0; call < 20; call++) batch.bounds.hang();
      const sent = batch.send();
      await expect.poll(() => hanging).toBe(16);
      stop.abort();
      return failure(sent);
    };
    expect(await cancelled()).toMatchObject({ code: "cancelled" });
    const plain = (): Promise<unknown[]> => {
      const batch = createBatch(session, services);
      return batch.send(batch.bounds.list(1));
    };
    await turns(5);
    expect(await failure(plain())).toMatchObject({ code: "resource_exhausted" });
    release();
    await expect.poll(() => hanging).toBe(0);
    await turns(5);
    expect(await plain()).toEqual([[0]]);
    await session.close();
    await served.close();
  });

  it("calls that wait for them end at maxMs", async () => {
    const batch = batchOf({ maxConcurrent: 1, maxMs: 20 });
    const hang = batch.bounds.hang();
    const list = batch.bounds.list(1);
    const [hung, waited, never] = batch.start(hang, list, batch.bounds.take(list));
    for (const result of [hung, waited]) expect(await failure(result)).toMatchObject({ code: "deadline_exceeded" });
    expect((await failure(never)).message).toContain("did not run: its input is the value of step 1");
    release();
  });
});

it("hold memory for each of their calls until they end", async () => {
  const [ours, theirs] = createMemoryPair();
  const limits = { maxSessionBytes: 400_000 };
  const served = createSession(theirs, { routers: [router, createBatches()], limits });
  const session = createSession(ours);
  const codes: string[] = [];
  const send = (): Promise<unknown> => {
    const batch = createBatch(session, services);
    for (let call = 0; call < 31; call++) batch.bounds.fail(1);
    batch.bounds.hang();
    return failure(batch.send()).then(({ code }) => codes.push(code));
  };
  const sent: Promise<unknown>[] = [];
  while (sent.length < 20) {
    sent.push(send());
    await expect.poll(() => hanging + codes.length, { interval: 1 }).toBe(sent.length);
  }
  // 64 KiB for the calls of each, some 20 KiB for its plan, and 2 KiB for the call that hangs.
  expect(hanging).toBeGreaterThan(3);
  expect(hanging).toBeLessThan(7);
  expect(codes).toEqual(Array.from({ length: 20 - hanging }, () => "resource_exhausted"));
  release();
  await Promise.all(sent);
  codes.length = 0;
  await send();
  expect(codes).toEqual(["not_found"]);
  await session.close();
  await served.close();
});

describe("answers", () => {
  it("are divided into items that fit into frames", async () => {
    const [ours, theirs] = createMemoryPair();
    const limits = { maxFrameBytes: 100_000 };
    const served = createSession(theirs, { routers: [router, createBatches()], limits });
    const session = createSession(ours);
    const batch = createBatch(session, services);
    const [first, second] = await batch.send(batch.bounds.text(60_000), batch.bounds.text(60_000));
    expect([first.length, second.length]).toEqual([60_000, 60_000]);
    const large = createBatch(session, services);
    const { text } = large.bounds;
    const [refused, above, other] = large.start(text(80_000), text(120_000), text(3));
    for (const result of [refused, above])
      expect((await failure(result)).message).toContain("is too large for a batch: the maximum is 70000 bytes");
    expect(await other).toBe("xxx");
    await session.close();
    await served.close();
  });

  it("failures have their details until maxBytes, and then say so", async () => {
    const batch = batchOf();
    const results = batch.start(...Array.from({ length: 30 }, () => batch.bounds.fail(60_000)));
    const codes: string[] = [];
    for (const result of results) codes.push((await failure(result)).code);
    expect(codes.filter((code) => code === "not_found")).toHaveLength(17);
    expect(codes.filter((code) => code === "resource_exhausted")).toHaveLength(13);
  });
});
