// Requests as other clients than grpc-js may send them, in gRPC-Web.
import { RpcError } from "@quicrpc/core";
import { createFetchHandler, type FetchHandler, withConnectDetails } from "@quicrpc/http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { grpc } from "../src/index.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";
import { createEchoRouter, type EchoHandlers } from "./generated/echo.js";

/** The message `{ text: "a", count: 1 }`. */
const ITEM = [10, 1, 97, 16, 1];

let deadline: number | undefined;
let reason: unknown;
/** Called when a handler waits for the end of its call. */
let onWait = (): void => {};
const handlers: EchoHandlers = {
  say(item, { responseMetadata, trailers }) {
    for (const metadata of [responseMetadata, trailers]) {
      metadata.append("grpc-status", "7");
      metadata.append("grpc-message", "not allowed");
      metadata.append("x-own", "own");
    }
    return item;
  },
  async *repeat({ text, count }, context) {
    ({ deadline } = context);
    yield { text, count };
    if (text === "") {
      const ended = new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
      onWait();
      await ended;
      ({ reason } = context.signal);
    }
  },
  join: () => ({ text: "", count: 0 }),
  async *each() {},
  nothing() {},
  fail() {
    throw withConnectDetails(new RpcError("not_found", "there is none"), [
      { type: "half \ud800 of a pair", value: new Uint8Array(0) },
    ]);
  },
};

function serve(): FetchHandler {
  return createFetchHandler({ routers: [createEchoRouter(handlers)], extensions: [grpc(echoProtobuf)] });
}

interface RequestOptions {
  readonly flags?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly handler?: FetchHandler;
}

interface Ending {
  readonly head: Headers;
  readonly status: string | undefined;
  readonly message: string;
  readonly text: string;
}

/** Sends one envelope, and returns the response with its status, which is in the head or at the end of the body. */
async function call(
  path: string,
  message: readonly number[],
  { flags = 0, headers = {}, handler = serve() }: RequestOptions = {},
): Promise<Ending> {
  const body = Uint8Array.of(flags, 0, 0, 0, message.length, ...message);
  const response = await handler(
    new Request(`http://localhost/test.v1.Echo/${path}`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto", ...headers },
      body,
    }),
  );
  const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
  const { headers: head } = response;
  const field = (name: string): string | undefined =>
    head.get(name) ?? new RegExp(`${name}: (.*)\r\n`).exec(text)?.[1] ?? undefined;
  return { head, status: field("grpc-status"), message: field("grpc-message") ?? "", text };
}

describe("a request is refused", () => {
  test.each<[string, RequestOptions, string, string]>([
    ["an envelope of Connect's end", { flags: 2 }, "3", "a request has no message at its end"],
    ["an envelope of trailers", { flags: 0x80 }, "3", "an envelope has the flags 128"],
    ["a compression that is not known", { headers: { "grpc-encoding": "br" } }, "12", "br"],
    ["a compressed message without a compression", { flags: 1 }, "13", "the request does not say how"],
    ["a timeout without a unit", { headers: { "grpc-timeout": "5" } }, "3", "grpc-timeout is not a number"],
    [
      "a timeout of too many digits",
      { headers: { "grpc-timeout": "123456789S" } },
      "3",
      "grpc-timeout is not a number",
    ],
  ])("for %s", async (_, options, code, message) => {
    for (const path of ["Say", "Repeat"]) {
      const { status, message: received } = await call(path, ITEM, options);
      expect([status, decodeURIComponent(received)]).toEqual([code, expect.stringContaining(message)]);
    }
  });

  test("during a drain", async () => {
    const handler = serve();
    await handler.drain();
    expect(await call("Say", ITEM, { handler })).toMatchObject({ status: "14" });
  });
});

describe("a timeout", () => {
  test("is the deadline of the handler", async () => {
    const before = Date.now();
    const { status } = await call("Repeat", ITEM, { headers: { "grpc-timeout": "1H" } });
    const after = Date.now();
    expect(status).toBe("0");
    expect(deadline).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(deadline).toBeLessThanOrEqual(after + 3_600_000);
    await call("Repeat", ITEM);
    expect(deadline).toBeUndefined();
  });

  afterEach(() => void vi.useRealTimers());

  test("ends the call and its handler", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    onWait = () => void vi.advanceTimersByTime(5000);
    const { status } = await call("Repeat", [], { headers: { "grpc-timeout": "5S" } });
    expect(status).toBe("4");
    expect(reason).toMatchObject({ code: "deadline_exceeded" });
  });
});

test("an error without valid details keeps its code and message", async () => {
  const { head, status, message } = await call("Fail", [8, 1]);
  expect([status, message, head.get("grpc-status-details-bin")]).toEqual(["5", "there is none", null]);
});

test("metadata with names of the protocol is not sent", async () => {
  const { head, text } = await call("Say", ITEM);
  expect([head.get("grpc-status"), head.get("grpc-message"), head.get("x-own")]).toEqual([null, null, "own"]);
  expect(text).toMatch(/x-own: own\r\ngrpc-status: 0\r\n$|grpc-status: 0\r\nx-own: own\r\n$/);
  expect(text).not.toContain("not allowed");
});
