import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createSession, type Session } from "@quicrpc/core";
import { messagePortTransport } from "@quicrpc/core/transport";
import { childProcessTransport } from "@quicrpc/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collect, failure } from "../../../test/behaviour/tools.js";

const service = { name: "test.v1.Elsewhere", id: 7003 };
const methods = {
  double: defineMethod(service, "unary", "double", {
    id: 1,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number>(),
  }),
  count: defineMethod(service, "server_stream", "count", {
    id: 2,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<string>(),
  }),
  hang: defineMethod(service, "unary", "hang", { id: 3 }),
};
const parent = {
  entered: defineMethod({ name: "test.v1.Here", id: 7004 }, "unary", "entered", { id: 1 }),
};

/** The program of another process; `transport` is an expression. */
const program = (transport: string): string => `
  const { createRouter, defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
const { createSession } = await import("@quicrpc/core");
const { messagePortTransport } = await import("@quicrpc/core/transport");
  const { stdioTransport } = await import("@quicrpc/node");
  const { workerData } = await import("node:worker_threads");
  const service = ${JSON.stringify(service)};
  const any = uncheckedCodec();
  const methods = {
    double: defineMethod(service, "unary", "double", { id: 1, input: any, output: any }),
    count: defineMethod(service, "server_stream", "count", { id: 2, input: any, output: any }),
    hang: defineMethod(service, "unary", "hang", { id: 3 }),
  };
  const entered = defineMethod({ name: "test.v1.Here", id: 7004 }, "unary", "entered", { id: 1 });
  const router = createRouter(methods, {
    double: (n) => n * 2,
    *count(n) { for (let i = 0; i < n; i++) yield String(i).padStart(1000, "0"); },
    hang: async (_, { session }) => { await session.unary(entered); await new Promise(() => {}); },
  });
  await createSession(${transport}, { routers: [router] }).closed;
`;

interface Elsewhere {
  session: Session;
  /** Ends it without a word. */
  kill(): unknown;
  /** Resolves when it has ended by itself. */
  ended: Promise<unknown>;
}

let entered!: Promise<void>;
let onEntered!: () => void;
const routers = [createRouter(parent, { entered: () => onEntered() })];

function childProcess(): Elsewhere {
  const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", program("stdioTransport()")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  return {
    session: createSession(childProcessTransport(child), { routers }),
    kill: () => child.kill("SIGKILL"),
    ended,
  };
}

function worker(): Elsewhere {
  const { port1, port2 } = new MessageChannel();
  const code = `(async () => {${program('messagePortTransport(workerData.port, "server")')}})()`;
  const thread = new Worker(code, { eval: true, workerData: { port: port2 }, transferList: [port2] });
  const ended = once(thread, "exit");
  return {
    session: createSession(messagePortTransport(port1, "client"), { routers }),
    kill: () => thread.terminate(),
    ended,
  };
}

describe.each([
  ["a child process", childProcess],
  ["a worker thread", worker],
])("%s", (_, start) => {
  let elsewhere: Elsewhere;
  beforeEach(() => {
    entered = new Promise((resolve) => {
      onEntered = resolve;
    });
    elsewhere = start();
  });
  afterEach(() => elsewhere.kill());

  it("is called and calls back, streams more than any buffer holds, and ends by itself when the session is closed", async () => {
    const { session, ended } = elsewhere;
    expect(await session.unary(methods.double, 21)).toBe(42);
    const items = await collect(session.serverStream(methods.count, 5000));
    expect(items.map(Number)).toEqual(Array.from({ length: 5000 }, (_item, i) => i));
    expect(await session.close()).toMatchObject({ closeCode: 0, error: undefined });
    expect(await ended).toEqual(expect.arrayContaining([0]));
  });

  it("C63 its death fails the calls in progress with unavailable", async () => {
    const { session } = elsewhere;
    const call = failure(session.unary(methods.hang, undefined));
    await entered;
    elsewhere.kill();
    expect(await call).toMatchObject({ code: "unavailable" });
    expect((await session.closed).error).toBeInstanceOf(Error);
  });
});

it("a child process without pipes is refused", () => {
  const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
  expect(() => childProcessTransport(child)).toThrow('stdio: ["pipe", "pipe", …]');
});
