// Plain HTTP at the listeners of a server, beside its sessions.
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, dial, serve, type Server, type ServeOptions } from "@quicrpc/node";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { afterEach, describe, expect, it } from "vitest";
import { methods } from "../behaviour/service.js";
import { trustOf } from "../../packages/node/test/trust.js";

const { nothing, wait } = methods;
const MESSAGE_PACK = "application/msgpack";

let server: Server | undefined;
let enter: () => void = () => {};
const entered = (): Promise<void> => new Promise((resolve) => (enter = resolve));
const router = createRouter(
  { nothing, wait },
  {
    nothing() {},
    async wait(input, { signal }) {
      enter();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return input;
    },
  },
);
afterEach(() => server?.close());

async function served(url: string, options: Partial<ServeOptions> = {}): Promise<string> {
  const http = toNodeHandler(createFetchHandler({ routers: [router] }));
  server = await serve({ listen: [url], routers: [router], tls: await devCertificate(), http, ...options });
  const { protocol, host } = new URL(server.urls.at(-1) as string);
  return `${protocol === "ws:" ? "http:" : "https:"}//${host}`;
}

function send(url: string, headers: Record<string, string> = {}, body?: Uint8Array): Promise<number> {
  const method = body === undefined ? "GET" : "POST";
  const given = { method, headers: { "content-type": MESSAGE_PACK, ...headers }, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const sent = url.startsWith("https:") ? httpsRequest(url, given) : httpRequest(url, given);
    sent.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const QUIC = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["https://127.0.0.1:0/rpc"] : [];

describe.each(["ws://127.0.0.1:0/rpc", "wss://127.0.0.1:0/rpc", ...QUIC])("a server at %s", (listen) => {
  it("answers requests of HTTP, probes and sessions on one port", async () => {
    const base = await served(listen);
    expect(await send(`${base}/test.v1.Behaviour/nothing`, {}, new Uint8Array(0))).toBe(200);
    expect(await send(`${base}/test.v1.Behaviour/none`, {}, new Uint8Array(0))).toBe(404);
    expect([await send(`${base}/healthz`), await send(`${base}/readyz`)]).toEqual([200, 200]);
    const url = server?.urls[0] as string;
    const { hash } = await devCertificate();
    const session = await dial(url, trustOf(url, { hash }));
    await session.unary(nothing, undefined);
    await session.close();
  });
});

it("is not ready once a drain has begun, which waits for calls over HTTP", async () => {
  const base = await served("ws://127.0.0.1:0/");
  const begun = entered();
  const text = Uint8Array.of(0x81, 0xa4, 0x74, 0x65, 0x78, 0x74, 0xa0);
  const call = send(`${base}/test.v1.Behaviour/wait`, { "connect-timeout-ms": "300" }, text);
  await begun;
  const drained = server?.drain();
  expect(await call).toBe(504);
  await drained;
  server = undefined;
});

it("refuses pages whose own name resolves to this machine, without TLS", async () => {
  const base = await served("ws://127.0.0.1:0/");
  const rebound = { host: "evil.example", origin: "http://evil.example" };
  expect(await send(`${base}/test.v1.Behaviour/nothing`, rebound, new Uint8Array(0))).toBe(421);
});

it("has no place without a port of HTTP", async () => {
  await expect(served("tcp://127.0.0.1:0")).rejects.toThrow(/option http needs a listener/);
});
