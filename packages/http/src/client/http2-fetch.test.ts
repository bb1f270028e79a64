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

function answeredBy(stream: FakeStream): Promise<Response> {
  const session = { closed: false, destroyed: false, request: () => stream, close() {}, ref() {}, unref() {}, on() {} };
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
