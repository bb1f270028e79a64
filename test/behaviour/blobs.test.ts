// Blobs beside other fields, both ways, over sessions of every kind.
import type { RpcError, Session } from "@quicrpc/core";
import type { BlobSource, ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { blobCalls } from "@quicrpc/blobs/generated";
import { describe, expect, it } from "vitest";
import { deferred } from "../../packages/core/src/deferred.js";
import { distinctKinds, kindsFor, type LocalKind } from "./kinds.js";

const service = { name: "test.v1.Blobs", id: 4730 };

/** A codec of messages whose sender gives one type and whose receiver gets another. */
const codec = <Sent, Received>(): ReturnType<typeof uncheckedCodec<Sent>> &
  ReturnType<typeof uncheckedCodec<Received>> => uncheckedCodec<never>();

interface Upload {
  readonly note: string;
  readonly file: BlobSource;
}
interface Uploaded {
  readonly note: string;
  readonly file: ReceivedBlob;
}

const methods = {
  attach: defineMethod<"unary", Upload, Uploaded, string, string>(service, "unary", "attach", {
    id: 1,
    input: codec<Upload, Uploaded>(),
    output: uncheckedCodec<string>(),
    blobs: blobCalls({ input: [{ name: "file", maxBytes: 20_000_000 }] }),
  }),
  fetch: defineMethod<"unary", number, number, { file: BlobSource }, { file: ReceivedBlob }>(
    service,
    "unary",
    "fetch",
    {
      id: 2,
      input: uncheckedCodec<number>(),
      output: codec<{ file: BlobSource }, { file: ReceivedBlob }>(),
      blobs: blobCalls({ output: [{ name: "file" }] }),
    },
  ),
  echo: defineMethod(service, "unary", "echo", {
    id: 3,
    input: uncheckedCodec<string>(),
    output: uncheckedCodec<string>(),
  }),
};

const patterned = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length).map((_, at) => (at * 31) % 251);

/** As many bytes as `length` in chunks, and how many of them were asked for. */
function counted(length: number): { chunks: AsyncGenerator<Uint8Array>; given: () => number; left: () => boolean } {
  let given = 0;
  let left = false;
  const chunks = (async function* () {
    try {
      while (given < length) {
        const chunk = new Uint8Array(Math.min(65_536, length - given));
        given += chunk.length;
        yield chunk;
      }
    } finally {
      left = true;
    }
  })();
  return { chunks, given: () => given, left: () => left };
}

interface Joined {
  readonly client: Session;
  readonly close: () => Promise<void>;
}

type Attach = (input: Uploaded, signal: AbortSignal) => Promise<string>;

describe.each(kindsFor("C84", distinctKinds) as readonly LocalKind[])("blobs: $name", (kind) => {
  async function pair(attach: Attach, file: () => BlobSource = () => new Blob([])): Promise<Joined> {
    const router = createRouter(methods, {
      attach: (input, { signal }) => attach(input, signal),
      fetch: () => ({ file: file() }),
      echo: (text) => text,
    });
    const joined = await kind.connect({}, { server: { routers: [router], onError: () => {} } });
    return { client: joined.client, close: () => joined.close() };
  }

  it("C84 a file arrives beside other fields, with its name, type, length and progress at both ends", async () => {
    const bytes = patterned(700_000);
    const progress = { sent: [] as number[], taken: [] as number[] };
    const { client, close } = await pair(async ({ note, file }) => {
      const chunks: Uint8Array[] = [];
      const onProgress = (taken: number): void => void progress.taken.push(taken);
      for await (const chunk of file.stream({ onProgress })) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      return `${note}: ${file.name}, ${file.type}, ${file.length}`;
    });
    const content = new File([bytes], "ä.bin", { type: "image/png" });
    const answer = await client.unary(methods.attach, {
      note: "seven",
      file: { content, onProgress: (sent, all) => void (all === bytes.length && progress.sent.push(sent)) },
    });
    expect(answer).toBe("seven: ä.bin, image/png, 700000");
    for (const each of [progress.sent, progress.taken]) {
      expect(each.at(-1)).toBe(bytes.length);
      expect(each).toEqual(each.toSorted((a, b) => a - b));
      expect(each.length).toBeGreaterThan(5);
    }
    await close();
  });

  it("C84 an answer's blob is read when its caller wants it, and again where its source can be", async () => {
    const bytes = patterned(300_000);
    const { client, close } = await pair(
      async () => "",
      () => new Blob([bytes]),
    );
    const { file } = await client.unary(methods.fetch, 1);
    expect(file.length).toBe(bytes.length);
    expect(await client.unary(methods.echo, "meanwhile")).toBe("meanwhile");
    expect(Buffer.from(await file.bytes()).equals(bytes)).toBe(true);
    if (kind.storesBlobs === true) expect(Buffer.from(await file.bytes()).equals(bytes)).toBe(true);
    else await expect(file.bytes()).rejects.toMatchObject({ code: "not_found" });
    await close();
  });

  it("C84 an answer's blob that nobody has read ends with its session", async () => {
    let cancelled = 0;
    let returned = 0;
    const sources = [
      () => new ReadableStream<Uint8Array>({ cancel: () => void cancelled++ }, { highWaterMark: 0 }),
      () => ({
        [Symbol.asyncIterator]: () => expect.unreachable(),
        return: async () => void returned++,
      }),
    ];
    const { client, close } = await pair(
      async () => "",
      () => sources.pop()?.() ?? expect.unreachable(),
    );
    await client.unary(methods.fetch, 1);
    await client.unary(methods.fetch, 1);
    expect({ cancelled, returned }).toEqual({ cancelled: 0, returned: 0 });
    await client.close();
    await expect.poll(() => ({ cancelled, returned }), { interval: 5 }).toEqual({ cancelled: 1, returned: 1 });
    await close();
  });

  it("C84 a stream that is cancelled ends at once, also while its sender has nothing to give", async () => {
    const { client, close } = await pair(
      async () => "",
      () => {
        const start = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
          controller.enqueue(new Uint8Array(10));
        return new ReadableStream<Uint8Array>({ start, pull: async () => new Promise(() => {}) });
      },
    );
    for (const signal of [undefined, new AbortController().signal]) {
      const { file } = await client.unary(methods.fetch, 1);
      const reader = file.stream(signal && { signal }).getReader();
      expect((await reader.read()).value).toHaveLength(10);
      const pending = reader.read();
      await reader.cancel();
      expect(await pending).toEqual({ done: true, value: undefined });
    }
    await close();
  });

  it("C84 a stream ends when its signal fires", async () => {
    const { client, close } = await pair(
      async () => "",
      () => new ReadableStream<Uint8Array>({ pull: async () => new Promise(() => {}) }),
    );
    const controller = new AbortController();
    const { file } = await client.unary(methods.fetch, 1);
    const read = file.stream({ signal: controller.signal }).getReader().read();
    controller.abort();
    await expect(read).rejects.toMatchObject({ code: "cancelled" });
    await close();
  });

  it("C84 a stream of unknown length, and one that is empty", async () => {
    const lengths: (number | undefined)[] = [];
    const { client, close } = await pair(async ({ file }) => {
      lengths.push(file.length);
      return String((await file.bytes()).length);
    });
    const { chunks } = counted(1_000_000);
    expect(await client.unary(methods.attach, { note: "", file: chunks })).toBe("1000000");
    expect(await client.unary(methods.attach, { note: "", file: new Blob([]) })).toBe("0");
    const stream = new Blob([patterned(5000)]).stream();
    expect(await client.unary(methods.attach, { note: "", file: stream })).toBe("5000");
    expect(lengths).toEqual(kind.storesBlobs === true ? [1_000_000, 0, 5000] : [undefined, 0, undefined]);
    await close();
  });

  it("C84 one that is too large is refused before a byte of it is read, and a longer one than was said as it is read", async () => {
    let entered = 0;
    const { client, close } = await pair(async ({ file }) => {
      entered++;
      return String((await file.bytes({ maxBytes: 30_000_000 })).length);
    });
    const large = counted(20_000_001);
    const said = { content: large.chunks, length: 20_000_001 };
    await expect(client.unary(methods.attach, { note: "", file: said })).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining("the limit is 20000000 bytes"),
    });
    expect({ entered, given: large.given() }).toEqual({ entered: 0, given: 0 });
    for (const length of [999_999, 1_000_001]) {
      const file = { content: counted(1_000_000).chunks, length };
      await expect(client.unary(methods.attach, { note: "", file })).rejects.toMatchObject({ code: "aborted" });
    }
    await close();
  });

  it("C84 a receiver that does not read holds its sender back, and one that leaves stops it", async () => {
    const read = deferred<void>();
    const begun = deferred<void>();
    const { client, close } = await pair(async ({ file }) => {
      for await (const _ of file) {
        begun.resolve();
        await read.promise;
        break;
      }
      return "enough";
    });
    const { chunks, given, left } = counted(200_000_000);
    const answer = client.unary(methods.attach, { note: "", file: chunks });
    await begun.promise;
    // Others are answered meanwhile, as often as a window could fill.
    for (let n = 0; n < 50; n++) await client.unary(methods.echo, "x");
    expect(given()).toBeLessThan(20_000_000);
    read.resolve();
    expect(await answer).toBe("enough");
    await expect.poll(left, { interval: 5 }).toBe(true);
    await close();
  });

  it("C84 a source that fails, a caller that gives up and a session that ends: everything settles", async () => {
    const ended: unknown[] = [];
    let started = deferred<void>();
    const { client, close } = await pair(async ({ file }) => {
      try {
        for await (const _ of file) started.resolve();
      } catch (error) {
        ended.push((error as RpcError).code);
        throw error;
      }
      return "";
    });
    const failing = (async function* () {
      yield new Uint8Array(10);
      throw new Error("the disk is gone");
    })();
    await expect(client.unary(methods.attach, { note: "", file: failing })).rejects.toThrow("the disk is gone");
    expect(ended).toEqual(["aborted"]);
    started = deferred();
    const stop = new AbortController();
    const { chunks, left } = counted(19_000_000_000);
    const call = client.unary(methods.attach, { note: "", file: chunks }, { signal: stop.signal });
    await started.promise;
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => ended.length, { interval: 5 }).toBe(2);
    await expect.poll(left, { interval: 5 }).toBe(true);
    started = deferred();
    const lost = client.unary(methods.attach, { note: "", file: counted(19_000_000).chunks });
    const failure = lost.catch((error: unknown) => error);
    await started.promise;
    await client.close({ closeCode: 1 });
    expect(await failure).toMatchObject({ code: "unavailable" });
    await expect.poll(() => ended.length, { interval: 5 }).toBe(3);
    await close();
  });

  it("C84 a caller that gives up while its source has nothing to give ends the handler's read", async () => {
    const begun = deferred<void>();
    const ended = deferred<unknown>();
    const { client, close } = await pair(async ({ file }) => {
      try {
        for await (const _ of file) begun.resolve();
      } catch (error) {
        ended.resolve((error as RpcError).code);
        throw error;
      }
      return "";
    });
    const stalling = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10);
      await new Promise(() => {});
    };
    const stop = new AbortController();
    const call = client.unary(methods.attach, { note: "", file: stalling }, { signal: stop.signal });
    await begun.promise;
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(await ended.promise).toBe("cancelled");
    await close();
  });

  it("C84 what is no blob, and a stream that was read, are errors of their sender", async () => {
    const { client, close } = await pair(async ({ file }) => String((await file.bytes()).length));
    for (const file of ["text", 5, {}, null]) {
      const call = client.unary(methods.attach, { note: "", file: file as unknown as BlobSource });
      await expect(call).rejects.toMatchObject({ code: "invalid_argument" });
    }
    const stream = new Blob([patterned(10)]).stream();
    stream.getReader();
    await expect(client.unary(methods.attach, { note: "", file: stream })).rejects.toThrow("can be read once");
    await close();
  });
});
