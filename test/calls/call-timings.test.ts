import { createSession, interceptCaller, interceptRouter, RpcError } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { type CallTimings, callTimings, sessionStats } from "@quicrpc/core/measure";
import { type ServedTimings, timedRouter } from "@quicrpc/services";
import { blobCalls } from "@quicrpc/blobs/generated";
import { expect, it, vi } from "vitest";
import { z } from "zod";

const service = { name: "demo.v1.Timed", id: 4711 };
const number = zodCodec(z.number());
const boxed = zodCodec(z.object({ n: z.number() }));
const methods = {
  double: defineMethod(service, "unary", "double", { id: 1, input: boxed, output: number, fingerprint: 7 }),
  count: defineMethod(service, "server_stream", "count", { id: 2, input: number, output: uncheckedCodec<number>() }),
  sum: defineMethod(service, "client_stream", "sum", { id: 3, input: number, output: number }),
  fail: defineMethod(service, "unary", "fail", { id: 4 }),
};

async function* upTo(most: number): AsyncGenerator<number> {
  for (let n = 1; n <= most; n++) yield n;
}

function world() {
  const told: [name: string, side: string, timings: CallTimings][] = [];
  const timed = callTimings((timings, { method, side }) => void told.push([method.name, side, timings]));
  const router = createRouter(methods, {
    double: ({ n }) => 2 * n,
    count: (n) => upTo(n),
    sum: async (items) => {
      let sum = 0;
      for await (const item of items) sum += item;
      return sum;
    },
    fail: () => {
      throw new RpcError("not_found", "nothing here");
    },
  });
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [interceptRouter(router, [timed])] });
  return { told, session: interceptCaller(createSession(ours), [timed]) };
}

it("tells where the time of a call went, on both sides, and leaves messages as they are", async () => {
  const { told, session } = world();
  expect(await session.unary(methods.double, { n: 21 })).toBe(42);
  expect(await session.unary(methods.double, { n: 4 })).toBe(8);
  const [, , callee] = told.find(([, side]) => side === "callee") ?? [];
  const [name, side, caller] = told.find(([, side]) => side === "caller") ?? [];
  expect([name, side]).toEqual(["double", "caller"]);
  for (const part of ["waitMs", "encodeMs", "answerMs", "decodeMs"] as const) {
    expect(caller?.[part]).toBeGreaterThanOrEqual(0);
    expect(callee?.[part]).toBeUndefined();
  }
  expect(caller?.itemsMs).toBeUndefined();
  expect(callee?.totalMs).toBeGreaterThanOrEqual(0);
});

it("tells of streams when they end, however that is", async () => {
  const { told, session } = world();
  const items: number[] = [];
  for await (const item of session.serverStream(methods.count, 3)) items.push(item);
  expect(items).toEqual([1, 2, 3]);
  expect(await session.clientStream(methods.sum, upTo(4))).toBe(10);
  for await (const item of session.serverStream(methods.count, 1000)) if (item === 2) break;
  await expect(session.unary(methods.fail, undefined)).rejects.toMatchObject({ code: "not_found" });
  const ours = told.filter(([, side]) => side === "caller");
  expect(ours.map(([name]) => name)).toEqual(["count", "sum", "count", "fail"]);
  expect(ours[0]?.[2].itemsMs).toBeGreaterThanOrEqual(0);
  expect(ours[3]?.[2].decodeMs).toBeUndefined();
});

it("the same message in two calls at once is measured in both", async () => {
  const { told, session } = world();
  const message = { n: 1 };
  await Promise.all([session.unary(methods.double, message), session.unary(methods.double, message)]);
  const ours = told.filter(([, side]) => side === "caller");
  expect(ours.map(([, , { encodeMs }]) => typeof encodeMs)).toEqual(["number", "number"]);
});

it("a message that does not fit is refused as ever", async () => {
  const { session } = world();
  await expect(session.unary(methods.double, "many" as never)).rejects.toMatchObject({ code: "invalid_argument" });
});

it("a transport that measures nothing leaves everything unknown but the pings' round trip", async () => {
  const [ours, theirs] = createMemoryPair();
  createSession(theirs);
  const session = createSession(ours);
  const { lanes, laneCalls, streamCalls, heldBytes, ...measured } = await sessionStats(session);
  expect({ lanes, laneCalls, streamCalls, heldBytes }).toEqual({
    lanes: 0,
    laneCalls: 0,
    streamCalls: 0,
    heldBytes: 0,
  });
  expect(Object.values(measured).every((one) => one === undefined)).toBe(true);
  await session.ping();
  expect(await sessionStats(session)).toMatchObject({ rttMs: session.rttMs, lostPackets: undefined, lanes: 1 });
  expect(await sessionStats({ transport: session.transport })).toMatchObject({
    lanes: undefined,
    heldBytes: undefined,
  });
});

it("tells a session's lanes, the calls in them and beside them, and the credit of those that stream", async () => {
  const taken: number[] = [];
  const chunk = "x".repeat(10_000);
  const any = uncheckedCodec<unknown>();
  const calls = {
    give: defineMethod(service, "server_stream", "give", { id: 1, output: any }),
    take: defineMethod(service, "client_stream", "take", { id: 2, input: any, output: any }),
  };
  const router = createRouter(calls, {
    *give() {
      for (;;) yield chunk;
    },
    take: async (items) => {
      // Reads no more than the first.
      for await (const item of items) {
        taken.push((item as string).length);
        await new Promise(() => {});
      }
    },
  });
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [router] });
  const session = createSession(ours);
  const answered = session.serverStream(calls.give, undefined, { via: "lane" });
  const reader = answered.getReader();
  await reader.read();
  await vi.waitUntil(async () => (await sessionStats(session)).receiveCredit === 0);
  const unread = await sessionStats(session);
  expect(unread).toMatchObject({ lanes: 1, laneCalls: 1, streamCalls: 0, sendCredit: undefined });
  expect(unread.heldBytes).toBeGreaterThan(200_000);
  await reader.cancel();
  const ending = new AbortController();
  const source = (async function* () {
    for (;;) yield chunk;
  })();
  const answer = session.clientStream(calls.take, source, { via: "lane", signal: ending.signal });
  await vi.waitUntil(async () => (await sessionStats(session)).sendCredit === 0);
  const beside = session.serverStream(calls.give, undefined, { via: "stream" });
  const other = beside.getReader();
  await other.read();
  expect(await sessionStats(session)).toMatchObject({
    lanes: 1,
    laneCalls: 1,
    streamCalls: 1,
    receiveCredit: undefined,
  });
  await other.cancel();
  expect(taken).toEqual([chunk.length]);
  ending.abort();
  await expect(answer).rejects.toMatchObject({ code: "cancelled" });
});

it("reads what QUIC and what a page's WebTransport tell, and survives a refusal", async () => {
  const quic = {
    attach() {},
    openStream: () => undefined as never,
    close() {},
    stats: () => ({ rttMs: 0, sentPackets: 9, lostPackets: 1 }),
  };
  expect(await sessionStats({ transport: quic, rttMs: 5 })).toMatchObject({ rttMs: 5, sentPackets: 9, lostPackets: 1 });
  const page = { getStats: async () => ({ smoothedRtt: 12, bytesSent: 3, packetsLost: Number.NaN }) };
  expect(await sessionStats({ transport: page as never })).toMatchObject({
    rttMs: 12,
    sentBytes: 3,
    lostPackets: undefined,
  });
  const broken = { getStats: () => Promise.reject(new Error("closed")) };
  expect(await sessionStats({ transport: broken as never })).toMatchObject({ rttMs: undefined });
});

it("a method with blobs is measured on both sides, and its blobs arrive", async () => {
  const any = uncheckedCodec<unknown>();
  const blobs = blobCalls({ input: [{ name: "file" }], output: [{ name: "file" }] });
  const back = defineMethod(service, "unary", "back", { id: 5, input: any, output: any, blobs });
  const router = createRouter(
    { back },
    { back: async (input) => ({ file: new Blob([await (input as { file: ReceivedBlob }).file.bytes()]) }) },
  );
  const served: ServedTimings[] = [];
  const told: CallTimings[] = [];
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [timedRouter(router, (timings) => served.push(timings))] });
  const session = interceptCaller(createSession(ours), [callTimings((timings) => told.push(timings))]);
  const { file } = (await session.unary(back, { file: new Blob(["bytes"]) })) as { file: ReceivedBlob };
  expect(new TextDecoder().decode(await file.bytes())).toBe("bytes");
  const { waitMs, uploadMs, uploadBytes, encodeMs, answerMs, decodeMs } = told[0] as CallTimings;
  expect([waitMs, uploadMs, encodeMs, answerMs, decodeMs].every((ms) => ms !== undefined && ms >= 0)).toBe(true);
  expect(uploadBytes).toBe(5);
  expect(told[0]?.uploadedFirst).toBe(false);
  expect(uploadMs).toBeLessThanOrEqual(answerMs as number);
  expect(served[0]?.queueMs).toBeGreaterThanOrEqual(0);
});
