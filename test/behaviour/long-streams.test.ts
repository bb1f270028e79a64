import { createRouter, defineMethod, uncheckedCodec, bytesCodec } from "@quicrpc/core/generated";
import type { ItemStream } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { heap, reachable } from "./heap.js";
import { kinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

const service = { name: "test.v1.Long", id: 4714 };
const message = uncheckedCodec<Item>();
const long = {
  down: defineMethod(service, "server_stream", "down", { id: 1, output: message }),
  up: defineMethod(service, "client_stream", "up", { id: 2, input: message }),
  echo: defineMethod(service, "duplex", "echo", { id: 3, input: message, output: message }),
  downBytes: defineMethod(service, "server_stream", "downBytes", { id: 4, output: bytesCodec }),
  upBytes: defineMethod(service, "client_stream", "upBytes", { id: 5, input: bytesCodec }),
  echoBytes: defineMethod(service, "duplex", "echoBytes", { id: 6, input: bytesCodec, output: bytesCodec }),
};

interface Item {
  readonly pad: Uint8Array;
}

/** Small against any window, so that many wait. */
const ITEM_BYTES = 2048;
/** Items that are read while more wait. */
const READ = 100;
/** Bytes that a long stream carries, and those that both ends may hold of it: windows, and what is buffered beside them. */
const LONG = 8 * 1024 * 1024;
const MOST_HELD = 6 * 1024 * 1024;
/** Bytes by which a slow reader stays behind: more than the window of one direction, so that both ends hold some. */
const BEHIND = 384 * 1024;

/** Items, or pieces of bytes, and how many bytes of them were taken. */
class Source<T extends object> {
  bytes = 0;
  private readonly make: (pad: Uint8Array) => T;
  private readonly end: number;

  constructor(make: (pad: Uint8Array) => T, end: number = Number.POSITIVE_INFINITY) {
    this.make = make;
    this.end = end;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    while (this.bytes < this.end) {
      this.bytes += ITEM_BYTES;
      yield this.make(new Uint8Array(ITEM_BYTES));
    }
  }
}

const item = (pad: Uint8Array): Item => ({ pad });
const piece = (pad: Uint8Array): Uint8Array => pad;

describe.each(kinds)("long streams: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    let pair: Pair;
    /** Items that the server gives. */
    let items: Source<Item>;
    let pieces: Source<Uint8Array>;
    /** Items that the server receives. */
    let received: AsyncIterator<object>;
    beforeEach(async () => {
      items = new Source(item);
      pieces = new Source(piece);
      const take = (input: ItemStream<object>, { signal }: { readonly signal: AbortSignal }): Promise<void> => {
        received = input[Symbol.asyncIterator]();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
      };
      const router = createRouter(long, {
        down: () => items,
        up: take,
        echo: (input) => input,
        downBytes: () => pieces,
        upBytes: take,
        echoBytes: (input) => input,
      });
      pair = await kind.connect(undefined, { server: { routers: [router] } });
    });
    afterEach(() => pair.close());

    /** Waits until the source has given more than is read here, and gives no more, over many round trips of the session. */
    async function stalled(source: { readonly bytes: number }): Promise<void> {
      let before = -1;
      for (let calm = 0; calm < 20; ) {
        await pair.client.unary(methods.echo, { text: "tick" });
        calm = source.bytes === before && before > READ * ITEM_BYTES ? calm + 1 : 0;
        before = source.bytes;
      }
    }

    /** Reads some of what waits, and expects that nothing holds it any more. */
    async function expectReleased(read: () => Promise<IteratorResult<object>>): Promise<void> {
      const refs: WeakRef<object>[] = [];
      for (let i = 0; i < READ; i++) refs.push(new WeakRef((await read()).value as object));
      await new Promise(setImmediate);
      // The last may be on the stack.
      expect(reachable(refs)).toBeLessThanOrEqual(1);
    }

    it.each(["items", "bytes"])(
      "C71 %s that the caller has read are released while more wait, by iterators and readers",
      async (what) => {
        const bytes = what === "bytes";
        const stream: ItemStream<object> = bytes
          ? pair.client.serverStream(long.downBytes, undefined, { via })
          : pair.client.serverStream(long.down, undefined, { via });
        await stalled(bytes ? pieces : items);
        const iterator = stream.values({ preventCancel: true });
        await expectReleased(() => iterator.next());
        await iterator.return?.();
        await stalled(bytes ? pieces : items);
        const reader = stream.getReader();
        await expectReleased(() => reader.read() as Promise<IteratorResult<object>>);
        await reader.cancel();
      },
    );

    it.each(["items", "bytes"])("C71 %s that the callee has read are released while more wait", async (what) => {
      const source = what === "bytes" ? new Source(piece) : new Source(item);
      const abort = new AbortController();
      const options = { via, signal: abort.signal };
      const ended = failure(
        source instanceof Source && what === "bytes"
          ? pair.client.clientStream(long.upBytes, source as Source<Uint8Array>, options)
          : pair.client.clientStream(long.up, source as Source<Item>, options),
      );
      await stalled(source);
      await expectReleased(() => received.next());
      abort.abort();
      await ended;
    });

    it.each(["items", "bytes"])(
      "C71 a long echo of %s for a slow reader holds its windows at most",
      { timeout: 60_000 },
      async (what) => {
        const before = heap();
        const source = new Source<Item | Uint8Array>(what === "bytes" ? piece : item, LONG);
        const { readable, writable } =
          what === "bytes"
            ? pair.client.duplex(long.echoBytes, { via })
            : pair.client.duplex(long.echo as unknown as typeof long.echoBytes, { via });
        const writer = (writable as WritableStream<Item | Uint8Array>).getWriter();
        const writing = (async () => {
          for await (const one of source) await writer.write(one);
          await writer.close();
        })();
        let read = 0;
        let most = 0;
        for await (const one of readable as AsyncIterable<Item | Uint8Array>) {
          read += one instanceof Uint8Array ? one.length : one.pad.length;
          if (read % (LONG / 4) < ITEM_BYTES) most = Math.max(most, heap() - before);
          for (let turns = 0; turns < 50 && source.bytes < LONG && source.bytes - read < BEHIND; turns++) {
            await new Promise(setImmediate);
          }
        }
        await writing;
        expect(read).toBe(LONG);
        expect(most).toBeLessThan(MOST_HELD);
      },
    );
  });
});
