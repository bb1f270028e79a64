import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { http2Fetch } from "./http2-fetch.js";

/** A stream as of `node:http2`, of which the test says what it receives. */
class FakeStream extends Duplex {
  rstCode: number | undefined = undefined;

  override _read(): void {}

  override _write(_: Uint8Array, __: string, done: () => void): void {
    done();
  }

  close(code: number): void {
    this.rstCode = code;
    this.destroy();
  }
}

const unused = { closed: false, destroyed: false, close() {}, ref() {}, unref() {}, on() {} };

function answeredBy(stream: FakeStream): Promise<Response> {
  return answeredOn({ ...unused, request: () => stream });
}

function answeredOn(
  session: typeof unused & { request: (headers: unknown, options: { readonly signal: AbortSignal }) => unknown },
): Promise<Response> {
  const init = { method: "POST", headers: new Headers(), signal: new AbortController().signal } as const;
  return http2Fetch(() => session)("https://orders.example/a", { ...init, redirect: "manual" });
}

const BYTES = Uint8Array.of(1, 2, 3);
const head = (length: number) => ({ ":status": 200, "content-length": String(length) });

it("loses no bytes that come before their head is read", async () => {
  const stream = new FakeStream();
  const answer = answeredBy(stream);
  stream.push(BYTES);
  stream.push(null);
  await new Promise(setImmediate);
  stream.emit("response", head(3));
  expect(new Uint8Array(await (await answer).arrayBuffer())).toEqual(BYTES);
});

it.each([
  ["was reset", 8, 3],
  ["is shorter than its head says", undefined, 4],
])("fails an answer that %s, though its body has ended", async (_, rstCode, length) => {
  const stream = new FakeStream();
  const answer = answeredBy(stream);
  stream.emit("response", head(length));
  const { body } = await answer;
  stream.push(BYTES);
  stream.rstCode = rstCode;
  stream.push(null);
  await expect(new Response(body).arrayBuffer()).rejects.toThrow("fetch failed");
});

it.each([204, 205, 304])("answers with the status %i, and without a body", async (status) => {
  const stream = new FakeStream();
  let signal: AbortSignal | undefined;
  const answer = answeredOn({
    ...unused,
    request(_: unknown, options: { readonly signal: AbortSignal }) {
      ({ signal } = options);
      return stream;
    },
  });
  stream.emit("response", { ":status": status });
  stream.push(BYTES);
  const response = await answer;
  expect(response.status).toBe(status);
  expect(response.body).toBe(null);
  // Nobody could read more of it.
  expect(signal?.aborted).toBe(true);
});

it.each([
  ["a status that is none", { ":status": 600 }],
  ["a status that is not the last", { ":status": 199 }],
  ["a field whose value is none", { ":status": 200, "x-a": "\u4e00" }],
  ["a field whose name is none", { ":status": 200, "a b": "c" }],
])("fails an answer with %s", async (_, fields) => {
  const stream = new FakeStream();
  const answer = answeredBy(stream);
  stream.emit("response", fields);
  await expect(answer).rejects.toMatchObject({
    code: "unknown",
    message: "the server has sent an invalid head of a response",
  });
});

it("keeps no process alive for a request that could not be made", async () => {
  let isKept = false;
  const session = {
    ...unused,
    ref: () => void (isKept = true),
    unref: () => void (isKept = false),
    request() {
      throw new Error("the session is over");
    },
  };
  await expect(answeredOn(session)).rejects.toThrow("the session is over");
  expect(isKept).toBe(false);
});

it("takes nothing that a server pushes, whatever settings it is given", async () => {
  let given: Readonly<Record<string, unknown>> | undefined;
  const fetch = http2Fetch(
    (_, options) => {
      given = options;
      return { ...unused, request: () => new FakeStream() };
    },
    { settings: { enablePush: true, initialWindowSize: 70_000 } },
  );
  const { signal } = new AbortController();
  void fetch("https://orders.example/a", { method: "GET", headers: new Headers(), signal, redirect: "manual" });
  expect(given?.["settings"]).toEqual({ enablePush: false, initialWindowSize: 70_000 });
});
