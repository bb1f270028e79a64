// Users' code that misbehaves, and peers that ask for more than they should have: each costs what it must, and no more.
import {
  createClientSession,
  createSession,
  Metadata,
  RpcError,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair, type DirectSession, type DirectStream } from "@quicrpc/core/transport";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { HELLO, RawPeer, settle } from "./raw-peer.js";

const service = { name: "test.v1.Robustness", id: 4661 };
const any = uncheckedCodec<unknown>();
const method = {
  run: defineMethod(service, "unary", "run", { id: 1, input: any, output: any }),
  strict: defineMethod(service, "unary", "strict", { id: 2, input: zodCodec(z.object({ n: z.int() })), output: any }),
  stream: defineMethod(service, "server_stream", "stream", { id: 3, input: any, output: zodCodec(z.int()) }),
  note: defineMethod(service, "notify", "note", { id: 4, input: any }),
};
type Unary = (
  input: unknown,
  context: { signal: AbortSignal; deadline: number | undefined; session: unknown },
) => unknown;
interface Served {
  run?: Unary;
  stream?: (
    input: unknown,
    context: { signal: AbortSignal },
  ) => AsyncIterable<number> | Iterable<number> | ReadableStream<number>;
  note?: (input: unknown) => unknown;
}

const sessions: Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.close();
});

function options({ run, stream, note }: Served, more: SessionOptions = {}): SessionOptions {
  const handlers = {
    run: run ?? (() => null),
    strict: () => null,
    stream: stream ?? (() => []),
    note: note ?? (() => {}),
  };
  return { routers: [createRouter(method, handlers as never)], onError: () => {}, ...more };
}

function pair(served: Served, more?: SessionOptions): { client: Session; server: Session } {
  const [ours, theirs] = createMemoryPair();
  const both = { server: createSession(theirs, options(served, more)), client: createSession(ours) };
  sessions.push(both.client);
  return both;
}

function hostile(served: Served, more?: SessionOptions): RawPeer {
  const [ours, theirs] = createMemoryPair();
  sessions.push(createSession(theirs, options(served, more)));
  return new RawPeer(ours);
}

describe("users' code", () => {
  it("hooks and callbacks that throw cost neither the call nor its siblings", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const fail = (): never => {
      throw new Error("in the hook");
    };
    const { client } = pair(
      { run: (input) => (input === 1 ? fail() : input === 2 ? Promise.reject(new Error()) : input) },
      { onError: fail },
    );
    const options = { onResponseMetadata: fail, onTrailers: fail };
    const outcomes = await Promise.allSettled([
      ...[1, 2].map((input) => client.unary(method.run, input)),
      client.unary(method.run, 3, options),
    ]);
    await settle();
    expect(outcomes).toMatchObject([{ reason: { code: "internal" } }, { reason: { code: "internal" } }, { value: 3 }]);
    // Of each call that failed the error and what onError threw, and what onResponseMetadata and onTrailers threw.
    expect(logged.mock.calls.map(([text]) => /^quicrpc: .* failed:/.exec(String(text))?.[0])).toEqual([
      "quicrpc: test.v1.Robustness/run failed:",
      "quicrpc: onError failed:",
      "quicrpc: test.v1.Robustness/run failed:",
      "quicrpc: onError failed:",
      "quicrpc: a hook failed:",
      "quicrpc: a hook failed:",
    ]);
    logged.mockRestore();
  });

  it("an error whose details cannot be read is told without them, and the next call works", async () => {
    const details = {
      get bad(): never {
        throw new Error("getter");
      },
    };
    const { client } = pair({
      run: (input) => {
        if (input === "fail") throw new RpcError("aborted", "told", { details });
        return input;
      },
    });
    for (const via of ["lane", "stream"] as const) {
      const failing = client.unary(method.run, "fail", { via });
      await expect(failing).rejects.toMatchObject({ code: "aborted", message: "told", details: undefined });
      expect(await client.unary(method.run, 1, { via })).toBe(1);
    }
  });

  it("details that would hold more than the session has room for are left out, of each kind of session", async () => {
    const declared = defineMethod(service, "unary", "run", {
      id: 1,
      input: any,
      output: any,
      errors: { MANY: { code: "aborted", details: any } },
    });
    const limits = { maxFrameBytes: 65_536, maxSessionBytes: 8 * 65_536 };
    const few = Array.from({ length: 100 }, () => ({}));
    const many = Array.from({ length: 60_000 }, () => ({}));
    const run: Unary = (input) => {
      throw new RpcError("aborted", "told", { reason: "MANY", details: input === "many" ? many : few });
    };
    for (const create of [createSession, createClientSession]) {
      for (const each of [method.run, declared]) {
        const [ours, theirs] = createMemoryPair();
        const server = createSession(theirs, { routers: [createRouter({ run: each }, { run })] });
        sessions.push(server);
        const client = create(ours, { limits });
        await expect(client.unary(each, "few")).rejects.toMatchObject({ message: "told", details: few });
        const error = await client.unary(each, "many").then(
          () => expect.unreachable(),
          (thrown: unknown) => RpcError.from(thrown),
        );
        expect(error).toMatchObject({ code: "aborted", message: "told", details: undefined });
        expect(error.hint).toMatch(
          /^its details are left out: .* holds too much memory: limits.maxSessionBytes is 524288/,
        );
      }
    }
  });

  it("a transport whose write throws harms its own session only", async () => {
    const [broken] = createMemoryPair();
    const throwing: DirectSession = {
      attach: (handler) => broken.attach(handler),
      close: (info) => broken.close(info),
      openStream: () =>
        Object.assign(Object.create(broken.openStream()) as DirectStream, {
          write: () => {
            throw new Error("no");
          },
        }),
    };
    const session = createSession(throwing);
    await expect(session.unary(method.run, "SECRET", { via: "stream" })).rejects.toMatchObject({ code: "unavailable" });
    const { client } = pair({ run: (input) => input });
    expect(await client.unary(method.run, "ours", { via: "stream" })).toBe("ours");
  });

  it.each(["lane", "stream"] as const)("signals that fire while a request is encoded: %s", async (via) => {
    const { client } = pair({ run: (input) => (input === "wait" ? new Promise(() => {}) : input) });
    const sibling = new AbortController();
    const own = new AbortController();
    const waiting = client.unary(method.run, "wait", { signal: sibling.signal, via });
    const input = {
      get a() {
        sibling.abort();
        return 1;
      },
    };
    expect(await client.unary(method.run, input, { via })).toEqual({ a: 1 });
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    const self = {
      get a() {
        own.abort();
        return 1;
      },
    };
    await expect(client.unary(method.run, self, { signal: own.signal, via })).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(await client.unary(method.run, 2, { via })).toBe(2);
  });

  it("a call made while another is encoded is refused, and nothing is mixed up", async () => {
    const { client } = pair({ run: (input) => input });
    let inner: Promise<unknown> | undefined;
    const input = {
      get a() {
        inner = client.unary(method.run, "inner");
        inner.catch(() => {});
        return 1;
      },
    };
    expect(await client.unary(method.run, input)).toEqual({ a: 1 });
    await expect(inner).rejects.toMatchObject({ message: expect.stringContaining("while another was being encoded") });
  });

  it.each(["lane", "stream"] as const)("an item that does not fit its schema ends the producer: %s", async (via) => {
    const witness = new Witness();
    const { client } = pair({
      async *stream() {
        try {
          yield 1;
          yield 0.5;
          yield 2;
        } finally {
          witness.saw("left");
        }
      },
    });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const item of client.serverStream(method.stream, null, { via })) seen.push(item);
    })();
    await expect(reading).rejects.toMatchObject({ code: "internal" });
    expect(seen).toEqual([1]);
    await witness.until("left");
  });

  it("a ReadableStream that waits is cancelled at once when the caller leaves", async () => {
    const witness = new Witness();
    const { client } = pair({
      stream: () =>
        new ReadableStream({
          start: (out) => out.enqueue(1),
          pull: () => new Promise(() => {}),
          cancel: () => witness.saw("cancelled"),
        }),
    });
    for await (const _ of client.serverStream(method.stream, null)) break;
    await witness.until("cancelled");
  });

  it.each(["lane", "stream"] as const)("a handler that closes the session and goes on is told: %s", async (via) => {
    const witness = new Witness();
    const { client } = pair({
      run: (_, { signal, session }) => {
        void (session as Session).close();
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            witness.saw("aborted");
            reject(signal.reason);
          });
        });
      },
    });
    await expect(client.unary(method.run, null, { via })).rejects.toMatchObject({ code: "unavailable" });
    await witness.until("aborted");
  });

  it("an endless in-process stream starves neither timers nor deadlines", async () => {
    const { client } = pair({
      *stream() {
        for (;;) yield 1;
      },
    });
    const reading = (async () => {
      for await (const _ of client.serverStream(method.stream, null, { timeoutMs: 50 }));
    })();
    await expect(reading).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  it("a call cancelled before the other side is attached does not keep running there", async () => {
    const [ours, theirs] = createMemoryPair();
    const client = createSession(ours);
    const abort = new AbortController();
    const call = client.unary(methods.wait, { text: "a" }, { via: "stream", signal: abort.signal });
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const witness = new Witness();
    createSession(theirs, { routers: [behaviourRouter(witness)] });
    await settle();
    expect(witness.events.filter((event) => event.startsWith("wait"))).toHaveLength(
      witness.events.filter((event) => event.startsWith("aborted")).length,
    );
  });
});

describe("limits that a peer meets", () => {
  /** A request of `run` with null, on a lane, with this id. */
  const run = (id: string) => `40${(5 + id.length / 2).toString(16).padStart(2, "0")} 01 ${id} 1235 01 c0`;

  it("a peer that does not read its answers stops being served", async () => {
    let handled = 0;
    const witness = new Witness();
    const big = "x".repeat(100_000);
    const peer = hostile({ run: () => (witness.saw(`call ${++handled}`), big) });
    const lane = peer.open();
    await lane.send(`02 ${HELLO}`);
    lane.stream.pause();
    for (let i = 0; i < 500; i++) await lane.send(run((0x4000 + 2 * i).toString(16)));
    expect(handled).toBeGreaterThan(1);
    expect(handled).toBeLessThan(10);
    lane.stream.resume();
    await witness.until("call 500");
  });

  it("answers that come later than the pause are bounded by maxSessionBytes", async () => {
    const release: (() => void)[] = [];
    const big = "x".repeat(100_000);
    const peer = hostile(
      { run: () => new Promise((resolve) => release.push(() => resolve(big))) },
      { limits: { maxSessionBytes: 1_000_000, maxFrameBytes: 200_000 } },
    );
    const lane = peer.open();
    await lane.send(`02 ${HELLO}`);
    lane.stream.pause();
    // A handler that runs for long, on a busy machine, has others wait for another turn.
    const entered = async (calls: number): Promise<void> => {
      while (release.length < calls) await settle();
    };
    for (let i = 0; i < 50; i++) await lane.send(run((0x4000 + 2 * i).toString(16)));
    await entered(50);
    for (const one of release) one();
    await settle();
    lane.stream.resume();
    await settle();
    // In a lane, what there is no room for is refused, and the calls beside it live.
    const refusal = Buffer.from("limits.maxSessionBytes is 1000000").toString("hex");
    const until = async (refusals: number, length: number): Promise<void> => {
      while (lane.received.split(refusal).length <= refusals || lane.received.length < length) await settle();
    };
    await until(35, 0);
    const { length } = lane.received;
    expect(length / 2).toBeLessThan(1_000_000 + 50 * 256 + big.length);
    await lane.send(run("7ffe"));
    await entered(51);
    release.at(-1)?.();
    await until(0, length + 2 * big.length);
    expect(lane.stopCode).toBeUndefined();
  });

  it("a transport that is never below its high-water mark, and yet sends, is not one whose peer does not read", async () => {
    const [ours, theirs] = createMemoryPair();
    createSession(theirs, { routers: [behaviourRouter(new Witness())] });
    const busy = (stream: DirectStream): DirectStream => ({
      attach: (handler) => stream.attach(handler),
      write: (bytes, end) => stream.write(bytes, end) && false,
      pendingBytes: () => stream.pendingBytes(),
      reset: (code) => stream.reset(code),
      stopSending: (code) => stream.stopSending(code),
      pause: () => stream.pause(),
      resume: () => stream.resume(),
    });
    const transport: DirectSession = {
      attach: (handler) => ours.attach(handler),
      openStream: () => busy(ours.openStream()),
      close: (info) => ours.close(info),
    };
    const caller = createSession(transport, { limits: { maxSessionBytes: 100_000 } });
    const text = "x".repeat(10_000);
    for (let sent = 0; sent < 50; sent++) {
      expect(await caller.unary(methods.echo, { text }, { via: "lane" })).toMatchObject({ text });
    }
    await caller.close();
  });

  it("credit that comes with the request counts", async () => {
    const witness = new Witness();
    const peer = hostile({
      *stream() {
        for (let sent = 0; sent < 80_000; sent++) yield 1;
        witness.saw("all");
      },
    });
    const lane = peer.open();
    // stream(null), then credit for 2^30-1 bytes
    await lane.send(`02 ${HELLO} 4006 01 00 1235 03 c0 4006 08 00 bfffffff`);
    await witness.until("all");
  });

  it("maxStreams counts streams that say nothing, and those whose request has no end", async () => {
    const peer = hostile({ run: () => null }, { limits: { maxStreams: 3 } });
    await peer.open().send("");
    const unfinished = await peer.open().send("01 4006 01 00 1235 01 c0");
    expect(unfinished.received).toBe("40030300c0");
    const silent = await peer.open().send("");
    expect((await peer.open().send("01")).resetCode).toBe(0x22);
    silent.stream.reset(1);
    await unfinished.send("", true);
    await settle();
    for (let i = 0; i < 2; i++)
      expect((await peer.open().send("01 4006 01 00 1235 01 c0")).received).toBe("40030300c0");
    expect((await peer.open().send("01")).resetCode).toBe(0x22);
  });

  it("maxCalls bounds calls and notifications in progress", async () => {
    let running = 0;
    const forever = (): Promise<never> => {
      running++;
      return new Promise(() => {});
    };
    const peer = hostile({ run: forever, note: forever }, { limits: { maxCalls: 3 } });
    const lane = await peer
      .open()
      .send(`02 ${HELLO} ${run("00")} ${run("02")} ${"4006 02 00 1235 04 c0".repeat(5)} ${run("04")}`);
    expect(running).toBe(3);
    // call 4: an error, refused, resource_exhausted
    expect(lane.received).toContain("140402090008");
  });

  it("a timeout longer than a timer can be is lowered, not over at once", async () => {
    const deadlines: (number | undefined)[] = [];
    const peer = hostile({ run: (_, { deadline }) => (deadlines.push(deadline), null) });
    // a head with a timeout of 2^40 ms
    const stream = await peer.open().send("01 4011 11 00 1235 01 0a 01 08 c000010000000000 c0", true);
    expect(stream.received).toBe("40030300c0");
    expect((deadlines[0] ?? 0) - Date.now()).toBeGreaterThan(2 ** 30);
  });

  it("an unknown method that streams, and a paused end, leave no stream behind", async () => {
    const [ours, theirs] = createMemoryPair();
    const witness = new Witness();
    sessions.push(createSession(theirs, { routers: [behaviourRouter(witness)], limits: { maxStreams: 2 } }));
    const client = createSession(ours);
    const unknown = defineMethod(service, "client_stream", "unknown", { id: 99, input: any, output: any });
    for (let i = 0; i < 5; i++) {
      const source = (async function* () {
        yield 1;
        await new Promise(() => {});
      })();
      await expect(client.clientStream(unknown, source)).rejects.toMatchObject({ code: "unimplemented" });
      const texts = [250_000, 20_000].map((length) => "x".repeat(length));
      await expect(client.clientStream(methods.sum, texts as unknown as number[])).rejects.toBeInstanceOf(RpcError);
      const big = { text: "x".repeat(300_000) };
      expect(await client.unary(methods.echo, big, { via: "stream" })).toEqual(big);
    }
  });

  it("a call that is over cannot be given up: its id may serve another", async () => {
    const { client } = pair({ run: (input) => input });
    const abort = new AbortController();
    const stream = client.serverStream(method.stream, null, { via: "lane", signal: abort.signal });
    for await (const _ of stream);
    const waiting = client.unary(method.run, "next");
    abort.abort();
    await stream.cancel();
    expect(await waiting).toBe("next");
  });

  it("a source is told when its call cannot begin", async () => {
    const { client } = pair({});
    const witness = new Witness();
    const source = new ReadableStream<number>({ cancel: () => witness.saw("cancelled") });
    const signal = AbortSignal.abort();
    await expect(client.clientStream(methods.sum, source, { signal })).rejects.toMatchObject({ code: "cancelled" });
    await witness.until("cancelled");
  });

  it("call ids beyond 2^31 do not stand for small ones", async () => {
    const peer = hostile({});
    const lane = await peer.open().send(`02 ${HELLO} 400d 01 c000000200000000 1235 01 c0`);
    expect(lane.resetCode).toBe(0x20);
  });

  it("a callee that never confirms cancels does not use up the caller for good", async () => {
    const [ours, theirs] = createMemoryPair();
    const peer = new RawPeer(theirs);
    const client = createSession(ours, { limits: { maxCallsPerLane: 4 } });
    sessions.push(client);
    for (let i = 0; i < 12; i++) {
      await expect(client.unary(method.run, i, { timeoutMs: 1 })).rejects.toMatchObject({ code: "deadline_exceeded" });
    }
    expect(peer.accepted).toHaveLength(3);
  });
});

describe("ids", () => {
  it.each([0, 1.5, 0x4000, -1])("a method cannot have the id %s", (id) => {
    expect(() => defineMethod(service, "unary", "x", { id })).toThrow(RangeError);
  });

  it("a service cannot have one beyond 16 bits", () => {
    expect(() => defineMethod({ name: "x", id: 0x1_0000 }, "unary", "x", { id: 1 })).toThrow(/service x is 65536/);
  });

  it("an RpcError of another copy of core is one", () => {
    const foreign = Object.assign(Object.create({ [Symbol.for("quicrpc.RpcError")]: true }) as object, {
      code: "aborted",
      message: "the call was aborted",
      metadata: new Metadata(),
    });
    expect(foreign).toBeInstanceOf(RpcError);
    expect(new Error("x")).not.toBeInstanceOf(RpcError);
  });
});
