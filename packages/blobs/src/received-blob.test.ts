import { getEventListeners } from "node:events";
import { expect, it, vi } from "vitest";
import type { CallOptions, TypedCaller } from "@quicrpc/core";
import { ReceivedBlob } from "./received-blob.js";

/** Creates a received blob whose sender sends these chunks. */
function received(chunks: () => AsyncIterable<Uint8Array>, length: number | null = null): ReceivedBlob {
  const start = (): unknown => Object.assign(chunks(), { trailers: new Map() });
  return new ReceivedBlob({ start } as unknown as TypedCaller, [0, length, "", ""], 1e9, false);
}

it.each([null, 200_000])("bytes() keeps no chunk, where %s bytes were said", async (length) => {
  // Memory that is used again: who kept a chunk would see it change.
  const byte = new Uint8Array(1);
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 200_000; n++) {
      byte[0] = n;
      yield byte;
    }
  };
  const bytes = await received(chunks, length).bytes();
  expect(Buffer.from(bytes).equals(new Uint8Array(200_000).map((_, n) => n))).toBe(true);
  expect(bytes.buffer.byteLength).toBe(200_000);
});

it("bytes() of chunks of many sizes are those that were sent, and no more than are asked for", async () => {
  const sizes = [0, 1, 70_000, 3, 0, 200_000, 5];
  const all = new Uint8Array(sizes.reduce((sum, size) => sum + size)).map((_, at) => at * 31);
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    let at = 0;
    for (const size of sizes) yield all.subarray(at, (at += size));
  };
  expect(await received(chunks).bytes()).toEqual(all);
  expect(await received(chunks, all.length).bytes({ maxBytes: all.length })).toEqual(all);
  await expect(received(chunks).bytes({ maxBytes: all.length - 1 })).rejects.toMatchObject({
    code: "resource_exhausted",
  });
  expect(await received(async function* () {}).bytes()).toEqual(new Uint8Array(0));
});

it.each([undefined, new AbortController().signal])(
  "a stream is cancelled at once while its sender has nothing to give",
  async (given) => {
    let signal: AbortSignal | undefined;
    const start = (_method: unknown, _input: unknown, options: CallOptions): unknown => {
      ({ signal } = options);
      const next = async (): Promise<never> => new Promise(() => {});
      return { [Symbol.asyncIterator]: () => ({ next }), trailers: new Map() };
    };
    const session = { start } as unknown as TypedCaller;
    const reader = new ReceivedBlob(session, [0, null, "", ""], 1e9, false)
      .stream(given && { signal: given })
      .getReader();
    const read = reader.read();
    await vi.waitUntil(() => signal !== undefined);
    await reader.cancel("enough");
    expect(await read).toEqual({ done: true, value: undefined });
    expect(signal).toMatchObject({ aborted: true, reason: "enough" });
  },
);

it("a stream that nobody reads does not stay with its signal", () => {
  const { signal } = new AbortController();
  received(async function* () {}).stream({ signal });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
