import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { createCaller } from "../call/base-caller.js";
import { itemQueue } from "../call/items/item-stream.js";
import { defineMethod } from "../client/define-method.js";
import { deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import { createRouter } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import type { Session } from "../session/session.js";
import { turnedAway } from "../transport/close-codes.js";
import { createMemoryPair } from "../transport/memory.js";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.js";
import { RawPeer, SERVER_HELLO } from "../../test/raw-peer.js";
import { pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Refused", id: 78 };
const text = uncheckedCodec<string>();
const echo = defineMethod(service, "unary", "echo", { id: 1, input: text, output: text });
const repeat = defineMethod(service, "server_stream", "repeat", { id: 2, input: text, output: text });

/** A session that fails each call with the error of `refusal`, and starts to drain when the test calls `drain`. */
class Refusing {
  refused = 0;
  readonly session: Session;
  private readonly begun = deferred<void>();

  /** @param items items that each stream delivers before it fails */
  constructor(session: Session, refusal: () => RpcError, items: readonly string[]) {
    const refuse = (): RpcError => {
      this.refused++;
      return refusal();
    };
    const refused = createCaller((method) => {
      if (method.kind === "unary") return Promise.resolve().then(() => Promise.reject(refuse()));
      const queue = itemQueue<string>({ onTaken() {}, onAbandoned() {} });
      for (const item of items) queue.push(item, 1);
      queueMicrotask(() => queue.end(refuse()));
      return queue.stream;
    });
    const { begun } = this;
    const own: Partial<Session> = { draining: begun.promise, start: refused.start.bind(refused) };
    this.session = new Proxy(session, {
      get: (target, name) => {
        const value: unknown = Reflect.get(name in own ? own : target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  drain(): void {
    this.begun.resolve();
  }
}

let connection: Connection;
let made: (Refusing | Session)[];
let seen: string[];

beforeEach(() => {
  startVirtualTime();
  vi.spyOn(Math, "random").mockReturnValue(1);
  made = [];
  seen = [];
});
afterEach(async () => {
  await connection.close({ closeCode: 1 });
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function session(): Session {
  const [ours, theirs] = createMemoryPair();
  const router = createRouter(
    { echo, repeat },
    {
      echo: (input) => {
        seen.push(input);
        return input;
      },
      repeat: async function* (input) {
        seen.push(input);
        for (let i = 0; i < 3; i++) yield input;
      },
    },
  );
  createSession(theirs, { routers: [router] });
  return createSession(ours);
}

/** Creates a connection whose first `refusing` sessions refuse every call. */
function connected(
  refusing: number,
  refusal: () => RpcError = () => turnedAway("the session is being drained"),
  options: ConnectionOptions = {},
  items: readonly string[] = [],
): Connection {
  connection = createConnection(async () => {
    const next = session();
    if (made.length >= refusing) {
      made.push(next);
      return next;
    }
    const one = new Refusing(next, refusal, items);
    made.push(one);
    return one.session;
  }, options);
  return connection;
}

const refusingAt = (at: number): Refusing => made[at] as Refusing;

async function collect(items: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

it.each([
  ["a unary call", () => connection.unary(echo, "a"), "a"],
  ["a stream of answers", () => collect(connection.serverStream(repeat, "a")), ["a", "a", "a"]],
])("%s that is refused goes on waiting, however often", async (_, call, expected) => {
  const sessions = 5;
  await connected(sessions).ready();
  const answer = call();
  for (let at = 0; at < sessions; at++) {
    await pass(0);
    expect(refusingAt(at).refused).toBe(1);
    expect(made).toHaveLength(at + 1);
    refusingAt(at).drain();
    await pass(100);
  }
  expect(await answer).toEqual(expected);
  expect(seen).toEqual(["a"]);
});

it.each([
  ["a unary call", () => connection.unary(echo, "a")],
  ["a stream of answers", () => collect(connection.serverStream(repeat, "a"))],
])("%s waits no longer than limits.maxQueuedMs in all, and says why", async (_, call) => {
  await connected(3, undefined, { limits: { maxQueuedMs: 1000 } }).ready();
  const end = failure(call());
  await pass(600);
  refusingAt(0).drain();
  await pass(0);
  expect(refusingAt(1).refused).toBe(1);
  let over = false;
  void end.then(() => (over = true));
  await pass(399);
  expect(over).toBe(false);
  await pass(1);
  expect(await end).toMatchObject({
    code: "unavailable",
    refused: true,
    message: "no session within limits.maxQueuedMs (1000 ms): the session is being drained",
  });
});

it("a refused call waits no longer than its own deadline", async () => {
  await connected(2).ready();
  const end = failure(connection.unary(echo, "a", { timeoutMs: 500 }));
  await pass(300);
  refusingAt(0).drain();
  await pass(199);
  expect(refusingAt(1).refused).toBe(1);
  await pass(1);
  expect(await end).toMatchObject({ code: "deadline_exceeded" });
});

it("a refused call ends with its signal, or when nobody wants it any more", async () => {
  await connected(1).ready();
  const abort = new AbortController();
  const call = failure(connection.unary(echo, "a", { signal: abort.signal }));
  const items = connection.serverStream(repeat, "a");
  await pass(0);
  abort.abort();
  expect(await call).toMatchObject({ code: "cancelled" });
  await items.cancel();
  refusingAt(0).drain();
  await pass(100);
  expect(made).toHaveLength(2);
  expect(seen).toEqual([]);
});

it("a refused call does not wait where it is not to", async () => {
  await connected(1).ready();
  expect(await failure(connection.unary(echo, "a", { waitForReady: false }))).toMatchObject({ refused: true });
  expect(await failure(collect(connection.serverStream(repeat, "a", { waitForReady: false })))).toMatchObject({
    refused: true,
  });
});

it("a call that a peer refuses which goes on is not made there again", async () => {
  await connected(1, () => new RpcError("unavailable", "too much to do", { refused: true })).ready();
  expect(await failure(connection.unary(echo, "a"))).toMatchObject({ message: "too much to do" });
  expect(refusingAt(0).refused).toBe(1);
});

it("a session that is over when it is made is never taken for ready", async () => {
  const states: string[] = [];
  let dials = 0;
  connection = createConnection(async () => {
    const next = session();
    if (dials++ === 0) await next.close({ closeCode: 9, reason: "refused" });
    return next;
  });
  void (async () => {
    for await (const { status } of connection.states()) if (states.at(-1) !== status) states.push(status);
  })();
  const answer = connection.unary(echo, "a");
  await pass(100);
  expect(await answer).toBe("a");
  expect(states).toEqual(["idle", "connecting", "ready"]);
});

it("a peer that drains each session at once is not dialled without a pause", async () => {
  await connected(100).ready();
  for (let i = 0; i < 20; i++) {
    refusingAt(made.length - 1).drain();
    await pass(10);
  }
  // Within 200 ms there are few attempts: at once, and after 100 and 160 ms.
  expect(made.length).toBeLessThanOrEqual(4);
});

describe("a stream that is refused after its first item is not made again", () => {
  it("on a session that another caller carries", async () => {
    await connected(1, undefined, {}, ["first"]).ready();
    const items = connection.serverStream(repeat, "a").values();
    expect((await items.next()).value).toBe("first");
    const end = failure(items.next());
    await pass(0);
    refusingAt(0).drain();
    await pass(100);
    expect(await end).toMatchObject({ refused: true });
    expect(seen).toEqual([]);
  });

  it.each([
    ["an item", "4004 05 00 a161", ["a"]],
    ["the end of the items", "4002 0e 00", []],
  ])("on a lane, after %s", async (_, frames, expected) => {
    let peer: RawPeer | undefined;
    connection = createConnection(async () => {
      if (peer !== undefined) return session();
      const [ours, theirs] = createMemoryPair();
      peer = new RawPeer(theirs);
      return createSession(ours);
    });
    const items: string[] = [];
    const call = (async () => {
      for await (const item of connection.serverStream(repeat, "a", { via: "lane" })) items.push(item);
    })();
    const end = Promise.allSettled([call]);
    await pass(0);
    const lane = await (peer as unknown as RawPeer).first();
    lane.write(`${SERVER_HELLO} ${frames} 4008 14 00 03 090101 0e 00`);
    await pass(0);
    (peer as unknown as RawPeer).close();
    await pass(1000);
    await end;
    expect(items).toEqual(expected);
    expect(seen).toEqual([]);
  });
});
