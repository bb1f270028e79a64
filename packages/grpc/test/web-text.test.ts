// gRPC-Web in text mode, as of the official client in pages.
import { RpcError } from "@quicrpc/core";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { GrpcWebClientBase, MethodDescriptor, MethodType, type RpcError as WebError } from "grpc-web";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
// @ts-expect-error -- the package has no types
import { XMLHttpRequest } from "xhr2";
import { grpc } from "../src/index.js";
import { createEchoRouter } from "./generated/echo.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";

const echo = createEchoRouter({
  say({ text, count }, { metadata, trailers }) {
    if (text === "") throw new RpcError("not_found", "there is none");
    trailers.append("tenant", String(metadata.get("tenant")));
    return { text, count };
  },
  async *repeat({ text, count }) {
    for (let i = 0; i < count; i++) yield { text: text.repeat(i), count: i };
  },
  join: () => ({ text: "", count: 0 }),
  async *each() {},
  nothing() {},
  async *fail() {},
});
const handler = createFetchHandler({ routers: [echo], extensions: [grpc(echoProtobuf)] });

/** A message with a text of fewer than 128 bytes and a count. */
function item(text: string, count: number): Buffer {
  const parts = [...(text === "" ? [] : [10, text.length, ...Buffer.from(text)]), ...(count === 0 ? [] : [16, count])];
  return Buffer.from(parts);
}

function envelope(bytes: Uint8Array, flags = 0): Buffer {
  return Buffer.from([flags, 0, 0, 0, bytes.length, ...bytes]);
}

describe("the client of npm's grpc-web", () => {
  const server = createServer(toNodeHandler(handler));
  let url: string;
  beforeAll(async () => {
    Object.assign(globalThis, { XMLHttpRequest });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  const client = new GrpcWebClientBase({ format: "text" });
  const methodOf = (name: string, type: string): MethodDescriptor<Uint8Array, Uint8Array> => {
    const same = (bytes: Uint8Array): Uint8Array => bytes;
    return new MethodDescriptor(`/test.v1.Echo/${name}`, type, Uint8Array, Uint8Array, same, same);
  };

  test("one message for one message", async () => {
    const method = methodOf("Say", MethodType.UNARY);
    for (const text of ["a", "ab", "abc"]) {
      const answer = await client.unaryCall(`${url}/test.v1.Echo/Say`, item(text, 5), { tenant: "north" }, method);
      expect(Buffer.from(answer)).toEqual(item(text, 5));
    }
  });

  test("errors", async () => {
    const method = methodOf("Say", MethodType.UNARY);
    const failed = client.unaryCall(`${url}/test.v1.Echo/Say`, item("", 1), {}, method);
    expect(await failed.catch(({ code, message }: WebError) => [code, message])).toEqual([5, "there is none"]);
  });

  test("a stream of messages", async () => {
    const method = methodOf("Repeat", MethodType.SERVER_STREAMING);
    const items: Buffer[] = [];
    const stream = client.serverStreaming(`${url}/test.v1.Echo/Repeat`, item("ab", 4), {}, method);
    await new Promise<void>((resolve, reject) => {
      stream.on("data", (bytes) => items.push(Buffer.from(bytes))).on("error", reject);
      stream.on("end", resolve);
    });
    expect(items).toEqual([item("", 0), item("ab", 1), item("abab", 2), item("ababab", 3)]);
  });
});

describe("bodies in base64", () => {
  /** Sends a body in pieces, and returns the response. */
  function send(path: string, pieces: readonly string[]): Promise<Response> {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        controller.close();
      },
    });
    const headers = { "content-type": "application/grpc-web-text+proto" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    return handler(new Request(`http://localhost/test.v1.Echo/${path}`, init));
  }

  const text = envelope(item("abcd", 1)).toString("base64");
  const padded = [envelope(item("abcd", 1)).subarray(0, 4), envelope(item("abcd", 1)).subarray(4)];

  test.each([
    ["whole", [text]],
    ["in pieces", Array.from(text)],
    ["padded within a message", padded.map((part) => part.toString("base64"))],
    ["padded within a piece", [padded.map((part) => part.toString("base64")).join("")]],
  ])("arrive %s", async (_, pieces) => {
    const response = await send("Say", pieces);
    expect(response.headers.get("content-type")).toBe("application/grpc-web-text+proto");
    const body = (await response.text()).split(/(?<==)(?=[^=])/).map((part) => Buffer.from(part, "base64"));
    const trailers = envelope(Buffer.from("tenant: undefined\r\ngrpc-status: 0\r\n"), 0x80);
    expect(Buffer.concat(body)).toEqual(Buffer.concat([envelope(item("abcd", 1)), trailers]));
  });

  test.each([
    ["not base64", ["AAAA!AAA"]],
    ["cut off", [text.slice(0, -1)]],
    ["padded in a wrong place", ["A===", "===="]],
  ])("are refused if %s", async (_, pieces) => {
    const { headers } = await send("Say", pieces);
    expect([headers.get("grpc-status"), headers.get("grpc-message")]).toEqual(["3", expect.stringContaining("base64")]);
  });
});
