// Pings of clients on connections that are lost in silence.
import { createFetchHandler, http2Fetch, toNodeHandler } from "@quicrpc/http";
import { once } from "node:events";
import { connect, createServer } from "node:http2";
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { grpc, grpcTransport } from "../src/index.js";
import { createEchoClient, createEchoRouter, type EchoClient } from "./generated/echo.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server whose first call ends when the test says so. */
async function serve(): Promise<{ port: number; entered: Promise<void>; answer: () => void; pings: () => number }> {
  let pings = 0;
  let enter = (): void => {};
  let answer = (): void => {};
  const entered = new Promise<void>((resolve) => (enter = resolve));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const router = createEchoRouter({
    async say(item) {
      if (item.text === "wait") {
        enter();
        await answered;
      }
      return item;
    },
    async *repeat() {},
    join: () => ({ text: "", count: 0 }),
    async *each() {},
    nothing() {},
    async *fail() {},
  });
  const handler = createFetchHandler({ routers: [router], extensions: [grpc(echoProtobuf)] });
  const server = createServer().on("stream", toNodeHandler(handler).http2 as never);
  server.on("session", (session) => session.on("ping", () => pings++));
  return { port: await listen(server), entered, answer, pings: () => pings };
}

/** Passes connections on to a port. `silence` stops those that are open, without closing them. */
async function networkTo(port: number): Promise<{ port: number; silence: () => void }> {
  const sockets = new Set<Socket>();
  const network = createTcpServer((client) => {
    const server = connectTcp(port, "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const silence = (): void => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { port: await listen(network), silence };
}

function clientOf(port: number, options: { keepaliveTimeMs: number }): EchoClient {
  const fetch = http2Fetch(connect, options);
  onTestFinished(() => fetch.close());
  return createEchoClient(grpcTransport({ services: [echoProtobuf], fetch }).caller(`http://127.0.0.1:${port}`));
}

test("a call fails if the server does not acknowledge a ping, and the next one uses another connection", async () => {
  const { port, entered } = await serve();
  const network = await networkTo(port);
  const client = clientOf(network.port, { keepaliveTimeMs: 10 });
  let failure: unknown;
  client.say({ text: "wait", count: 1 }).catch((error: unknown) => (failure = error));
  await entered;
  network.silence();
  // Node's own timer of an idle session is not one of these.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const hasFailed = (): boolean => {
    vi.advanceTimersByTime(1000);
    return failure !== undefined;
  };
  await vi.waitUntil(hasFailed, { timeout: 10_000, interval: 5 });
  vi.useRealTimers();
  expect(failure).toMatchObject({
    code: "unavailable",
    refused: false,
    message: expect.stringContaining("the server has not acknowledged a ping within 20000 ms"),
  });
  expect(await client.say({ text: "again", count: 1 })).toEqual({ text: "again", count: 1 });
});

test("a slow call goes on while the server acknowledges pings", async () => {
  const { port, entered, answer, pings } = await serve();
  const client = clientOf(port, { keepaliveTimeMs: 10 });
  const slow = client.say({ text: "wait", count: 1 });
  await entered;
  await vi.waitUntil(() => pings() >= 3);
  answer();
  expect(await slow).toEqual({ text: "wait", count: 1 });
});

test("pings at the same time are one", async () => {
  const { port, pings } = await serve();
  const fetch = http2Fetch(connect);
  onTestFinished(() => fetch.close());
  for (let i = 1; i <= 2; i++) {
    await Promise.all(Array.from({ length: 20 }, () => fetch.ping(`http://127.0.0.1:${port}`)));
    expect(pings()).toBe(i);
  }
});

/** A server that accepts connections and never answers. */
async function serveSilence(): Promise<{ port: number; accepted: Promise<Socket> }> {
  const server = createTcpServer();
  const accepted = new Promise<Socket>((resolve) => void server.once("connection", resolve));
  onTestFinished(async () => void (await accepted).destroy());
  return { port: await listen(server), accepted };
}

test("a ping fails if the server does not acknowledge it", async () => {
  const { port } = await serveSilence();
  const fetch = http2Fetch(connect, { keepaliveTimeoutMs: 10 });
  onTestFinished(() => fetch.close());
  await expect(fetch.ping(`http://127.0.0.1:${port}`)).rejects.toThrow("has not acknowledged a ping within 10 ms");
});

test("close does not wait for a silent server", async () => {
  const { port, accepted } = await serveSilence();
  const fetch = http2Fetch(connect);
  const lost = fetch.ping(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
  const closed = once((await accepted).resume(), "close");
  fetch.close();
  expect(await lost).toMatchObject({ message: "the server has closed the connection" });
  await closed;
});
