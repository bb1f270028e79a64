import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { foreignClientStreamCalls } from "../client/foreign-calls.js";
import { describeMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { interceptCaller } from "../interceptors/intercept-caller.js";
import { createRouter } from "../server/router.js";
import { createCallerSession } from "../session/caller-session.js";
import { createSession } from "../session/create-session.js";
import type { Session } from "../session/session.js";
import { createMemoryPair } from "../transport/memory.js";
import { type Connection, createConnection } from "./connection.js";
import { meanwhile, pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Unstarted", id: 80 };
const number = uncheckedCodec<number>();
const methods = {
  take: defineMethod(service, "client_stream", "take", { id: 2, input: number, output: number }),
  chat: defineMethod(service, "duplex", "chat", { id: 3, input: number, output: number }),
};
const router = createRouter(methods, {
  take: () => {
    throw new RpcError("aborted", "no more");
  },
  chat: (items) => items,
});

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

function connected(wrap: (session: Session) => Session = (session) => session): Connection {
  connection = createConnection(async () => {
    const [ours, theirs] = createMemoryPair();
    served.push(createSession(theirs, { routers: [router] }));
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

describe("the writer of a call that fails before it has a session", () => {
  function unconnected(): WritableStream<number> {
    connection = createConnection(() => new Promise<never>(() => {}));
    const { readable, writable } = connection.duplex(methods.chat, { timeoutMs: 20 });
    readable.getReader().closed.catch(() => {});
    return writable;
  }

  it.each(["write", "close"] as const)("rejects a %s", async (name) => {
    const writer = unconnected().getWriter();
    writer.closed.catch(() => {});
    expect(await codeOf(name === "write" ? writer.write(1) : writer.close())).toBe("deadline_exceeded");
  });

  it.each([[[]], [[1]]])("rejects a pipe of %j", async (items) => {
    const source = new ReadableStream<number>({
      start(controller) {
        for (const item of items) controller.enqueue(item);
        controller.close();
      },
    });
    expect(await codeOf(source.pipeTo(unconnected()))).toBe("deadline_exceeded");
  });
});

/** Returns a session that makes calls by its own protocol, as over HTTP. */
const foreign = (session: Session): Session =>
  createCallerSession({
    closed: session.closed,
    close: (info) => void session.close(info),
    start: ((_method: unknown, input: AsyncIterable<number>) => session.clientStream(methods.take, input)) as never,
  });

const foreignTake = describeMethod(service, foreignClientStreamCalls, "take", {
  id: 2,
  input: number,
  output: number,
});

it.each([
  ["a session", methods.take, undefined],
  ["a session with interceptors", methods.take, intercepted],
  ["a session without frames", methods.take, foreign],
  ["a session without frames, by a client that was generated for one", foreignTake, foreign],
])("a source is opened and stopped once when its call fails on %s", async (_, method, wrap) => {
  let opened = 0;
  let stopped = 0;
  const source = {
    [Symbol.asyncIterator]: () => {
      opened++;
      return {
        next: () => new Promise<never>(() => {}),
        return: async () => {
          stopped++;
          return { done: true as const, value: undefined };
        },
      };
    },
  };
  expect(await codeOf(connected(wrap).clientStream(method, source))).toBe("aborted");
  await pass(10);
  expect({ opened, stopped }).toEqual({ opened: 1, stopped: 1 });
});
