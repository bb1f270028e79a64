// A page that cannot load what it needs later, as one that is offline, or whose server has another version of its files by now.
import { createCaller, RpcError } from "@quicrpc/core";
import { bytesCodec, defineMethod } from "@quicrpc/core/generated";
import { expect, it, vi } from "vitest";
import { httpTransport } from "./http-transport.js";
import type { Fetch } from "./options.js";

const service = { name: "demo.v1.Demo", id: 7 };
const echo = defineMethod(service, "unary", "echo", { id: 1, input: bytesCodec, output: bytesCodec });
const count = defineMethod(service, "server_stream", "count", { id: 2, input: bytesCodec, output: bytesCodec });
const chat = defineMethod(service, "duplex", "chat", { id: 3, input: bytesCodec, output: bytesCodec });

const bytes = Uint8Array.of(1);

function callerOf(fetch: Fetch) {
  const client = httpTransport({ fetch, uploads: "full" }).caller("http://orders.example/rpc");
  return createCaller((method, input, options) => client.start(method, input, options));
}

const refused: Fetch = () => Promise.resolve(new Response("no", { status: 503 }));

vi.mock("./loaded-later.js", () => {
  throw new Error("offline");
});

it("gets the error of an answer that says what was not read", async () => {
  const error: unknown = await callerOf(refused)
    .unary(echo, bytes)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RpcError);
  expect(error).toMatchObject({
    code: "unknown",
    message: "http://orders.example/rpc answered with HTTP status 503, and what it says could not be read",
    method: "demo.v1.Demo/echo",
  });
});

it("gets an error of each stream, and sends no request", async () => {
  const caller = callerOf(() => expect.unreachable());
  await expect(caller.serverStream(count, bytes).values().next()).rejects.toMatchObject({ code: "internal" });
  await expect(caller.duplex(chat).readable.values().next()).rejects.toMatchObject({ code: "internal" });
});

it("has its answers all the same", async () => {
  const answer = new Response(bytes, { headers: { "content-type": "application/msgpack" } });
  expect(await callerOf(() => Promise.resolve(answer)).unary(echo, bytes)).toEqual(bytes);
});
