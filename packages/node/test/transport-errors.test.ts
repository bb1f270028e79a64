// `connect`, `dial` and `serve` reject with one family of errors: code, URL, cause and hint.
import { createServer, type Server as TcpServer } from "node:net";
import { TransportError } from "@quicrpc/core";
import { connect, dial, serve } from "@quicrpc/node";
import { createRouter } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { startProgram } from "../../../test/child-program.js";

async function failure(attempt: Promise<unknown>): Promise<TransportError> {
  const error: unknown = await attempt.then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown,
  );
  return error as TransportError;
}

let listening: TcpServer;
let port: number;

beforeEach(async () => {
  listening = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  ({ port } = listening.address() as { port: number });
});
afterEach(async () => {
  await new Promise((resolve) => listening.close(resolve));
});

describe.each(["tcp", "tls", "ws", "wss"])("%s://", (scheme) => {
  it.each([
    ["dial", (url: string) => dial(url, { timeoutMs: 2000 })],
    ["connect", (url: string) => connect(url, { timeoutMs: 500 })],
  ] as const)("%s names code, URL, cause and what to do, and nothing that is secret", async (_name, attempt) => {
    const free = await freePort();
    const path = scheme.startsWith("ws") ? "/rpc" : "";
    const secrets = scheme.startsWith("ws") ? "?token=secret" : "";
    const error = await failure(attempt(`${scheme}://127.0.0.1:${free}${path}${secrets}`));
    expect(error).toBeInstanceOf(TransportError);
    expect(error).toMatchObject({
      name: "TransportError",
      code: "ECONNREFUSED",
      url: `${scheme}://127.0.0.1:${free}${path}`,
    });
    expect(error.message).toContain(`cannot connect to ${error.url}: `);
    expect(error.hint).toContain("start the server");
    expect(error.cause).toBeInstanceOf(Error);
    expect(`${error.message} ${error.hint}`).not.toContain("secret");
  });
});

it("a session that ends before the server has taken it is told with its URL and what to do", async () => {
  const url = `tcp://127.0.0.1:${port}`;
  const error = await failure(connect(url, { credentials: "secret", timeoutMs: 300 }));
  expect(error).toBeInstanceOf(TransportError);
  expect(error).toMatchObject({ code: expect.stringMatching(/^E/), url });
  expect(error.message).toContain(`cannot connect to ${url}: `);
  expect(error.hint).toContain("another program or protocol");
  expect(error.cause).toBeInstanceOf(Error);
});

it.each(["tls", "ws", "wss"])("%s:// to a server of tcp:// says to check the scheme", async (scheme) => {
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [] });
  const error = await failure(dial(server.urls[0]?.replace("tcp", scheme) ?? ""));
  expect(error).toBeInstanceOf(TransportError);
  expect(error.hint).toContain("check the URL's scheme and port");
});

it("serve names code, URL, cause and what to do", async () => {
  const error = await failure(serve({ listen: [`tcp://127.0.0.1:${port}`], routers: [] }));
  expect(error).toBeInstanceOf(TransportError);
  expect(error).toMatchObject({ code: "EADDRINUSE", url: `tcp://127.0.0.1:${port}`, cause: { code: "EADDRINUSE" } });
  expect(error.message).toContain(`cannot listen on tcp://127.0.0.1:${port}: `);
  expect(error.hint).toContain("another process uses this port");
});

it("a path at which nobody listens is named as it is", async () => {
  const error = await failure(dial("unix:/tmp/nobody-listens-here.sock"));
  expect(error).toMatchObject({ code: "ENOENT", url: "unix:/tmp/nobody-listens-here.sock" });
  expect(error.hint).toContain("start the server");
});

it("a path at which no WebSocket is taken is said at once, with where they are taken", async () => {
  const server = await serve({ listen: "ws://127.0.0.1:0/rpc", routers: [], advanced: { allowedHosts: [] } });
  try {
    const [url = ""] = server.urls;
    const error = await failure(connect(url.replace("/rpc", "/other"), { timeoutMs: 60_000 }));
    expect(error.message).toContain("status 404");
    expect(error.hint).toContain("compare its scheme, host and path");
    expect(error.stack).toContain("transport-errors.test.ts");
  } finally {
    await server.close();
  }
});

it("what gives up itself gets its own reason", async () => {
  const reason = new Error("enough");
  await expect(dial(`tcp://127.0.0.1:${port}`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await expect(connect(`tcp://127.0.0.1:${port}`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

it("what cannot be used as it was given is a TypeError", async () => {
  await expect(dial("gopher://localhost")).rejects.toBeInstanceOf(TypeError);
  const twice = createRouter({}, {});
  await expect(serve({ listen: ["gopher://localhost"], routers: [twice] })).rejects.toBeInstanceOf(TypeError);
});

/** After an attempt that has failed, no other comes within the time that `connect` has. */
const LATER = { initialMs: 60_000, maxMs: 60_000 };

it.each([
  ["dial", (url: string) => dial(url, { credentials: "x".repeat(20_000) })],
  ["connect", (url: string) => connect(url, { credentials: "x".repeat(20_000), advanced: { backoff: LATER } })],
] as const)("%s closes a connection whose session cannot be made", async (_name, attempt) => {
  const taken: Promise<void>[] = [];
  listening.removeAllListeners("connection").on("connection", (socket) => {
    taken.push(new Promise((resolve) => socket.resume().once("close", () => resolve())));
  });
  expect(await failure(attempt(`tcp://127.0.0.1:${port}`))).toMatchObject({ code: "invalid_argument" });
  expect(taken).not.toEqual([]);
  await Promise.all(taken);
});

it("a UDP port that a sibling of node:cluster has: says what shares it", async () => {
  const { child, message } = await startProgram(new URL("cluster-port.ts", import.meta.url), {});
  child.kill();
  expect(message).toEqual({
    code: "EADDRINUSE",
    hint: expect.stringMatching(/shareUdpPorts.* or .*serve\(\{ workers \}\)/),
  });
});
