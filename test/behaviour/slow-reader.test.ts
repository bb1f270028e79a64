import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { kinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Slow", id: 4713 };
const bytes = uncheckedCodec<Uint8Array>();
const slow = {
  download: defineMethod(service, "server_stream", "download", { id: 1, output: bytes }),
  upload: defineMethod(service, "client_stream", "upload", { id: 2, input: bytes }),
  talk: defineMethod(service, "duplex", "talk", { id: 3, input: bytes, output: bytes }),
};

const ITEM = new Uint8Array(16 * 1024);
/** Its frame takes a fourth of a lane's window: 4 bytes for the length, type and call id, 3 in MessagePack. */
const FILLING = new Uint8Array(64 * 1024 - 9);
/**
 * Bytes that a stream of items may hold while nobody reads it, over both ends: in a lane its window of 256 KiB, and up to 128 KiB
 * that streams of Node 26 buffer by themselves; on its own stream the window of the transport, 4 MiB for QUIC, and what is buffered on
 * either side of it.
 */
const MOST_BYTES = { lane: 384 * 1024, stream: 6 * 1024 * 1024 };

/** Items without an end, and how many bytes of them were taken. */
class Source {
  bytes = 0;

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      this.bytes += ITEM.length;
      yield ITEM;
    }
  }
}

describe.each(kinds)("slow readers: $name", (kind) => {
  let pair: Pair;
  let served: Source;
  beforeEach(async () => {
    served = new Source();
    const never = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    const router = createRouter(slow, {
      download: () => served,
      upload: (_, { signal }) => never(signal),
      talk: () => served,
    });
    pair = await kind.connect(undefined, { server: { routers: [router] } });
  });
  afterEach(() => pair.close());

  /** Waits until no source gives any more, over many round trips of the session. */
  async function stalled(via: "lane" | "stream", ...sources: readonly { readonly bytes: number }[]): Promise<void> {
    const total = (): number => sources.reduce((sum, source) => sum + source.bytes, 0);
    let before = -1;
    for (let calm = 0; calm < 20; ) {
      await pair.client.unary(methods.echo, { text: "tick" });
      calm = before > 0 && total() === before ? calm + 1 : 0;
      before = total();
      expect(before).toBeLessThanOrEqual(MOST_BYTES[via] * sources.length);
    }
  }

  it.each(["lane", "stream"] as const)("C62 by %s, each end holds a bounded number of bytes", async (via) => {
    const uploaded = new Source();
    const abort = new AbortController();
    const options = { via, signal: abort.signal };
    const download = pair.client.serverStream(slow.download, undefined, options);
    const upload = failure(pair.client.clientStream(slow.upload, uploaded, options));
    await stalled(via, served, uploaded);
    abort.abort();
    expect(await upload).toMatchObject({ code: "cancelled" });
    await download.cancel().catch(() => {});
  });

  it("C62 by lane, frames that fill the window to the last byte arrive when they are read", async () => {
    const items = Array.from({ length: 16 }, () => FILLING);
    served[Symbol.asyncIterator] = async function* () {
      yield* items;
    };
    const download = pair.client.serverStream(slow.download, undefined, { via: "lane" });
    for (let turns = 0; turns < 20; turns++) await pair.client.unary(methods.echo, { text: "tick" });
    expect(await collect(download)).toHaveLength(items.length);
  });

  it.each(["lane", "stream"] as const)("C62 by %s, a writer's promises wait with it", async (via) => {
    const written = { bytes: 0 };
    const { readable, writable } = pair.client.duplex(slow.talk, { via });
    const writer = writable.getWriter();
    const writing = (async () => {
      for (;;) {
        await writer.write(ITEM);
        written.bytes += ITEM.length;
      }
    })();
    const ended = writing.catch((error: unknown) => error);
    await stalled(via, written, served);
    await readable.cancel();
    expect(await ended).toMatchObject({ code: "cancelled" });
  });
});
