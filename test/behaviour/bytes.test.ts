import { Buffer } from "node:buffer";
import { createRouter, defineMethod, bytesCodec, zodCodec } from "@quicrpc/core/generated";
import type { RpcError, StreamSource } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds, type Pair } from "./kinds.js";
import { methods as plain, Witness } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Bytes", id: 77 };
const raw = { input: bytesCodec, output: bytesCodec };
const methods = {
  /** Gives back what it gets. */
  pipe: defineMethod(service, "duplex", "pipe", { id: 1, ...raw }),
  /** Ends its own side first, then reads on. */
  last: defineMethod(service, "duplex", "last", { id: 2, ...raw }),
  /** Ends both sides after the first chunk. */
  leave: defineMethod(service, "duplex", "leave", { id: 3, ...raw }),
  /** Counts what is uploaded. */
  upload: defineMethod(service, "client_stream", "upload", { id: 4, input: bytesCodec, output: zodCodec(z.int()) }),
  download: defineMethod(service, "server_stream", "download", { id: 5, input: zodCodec(z.int()), output: bytesCodec }),
  /** Gives what is no bytes. */
  wrong: defineMethod(service, "server_stream", "wrong", { id: 6, output: bytesCodec }),
};

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31) >>> 3;
  return bytes;
}

function bytesRouter(witness: Witness) {
  return createRouter(methods, {
    pipe: (input) => input,
    last: (input) => {
      const reading = (async () => {
        const chunks = await collect(input);
        witness.saw(`read ${text(Buffer.concat(chunks))}`);
      })();
      reading.catch((error: RpcError) => witness.saw(`last ${error.code}`));
      return [bytes("mine")];
    },
    async *leave(input) {
      for await (const chunk of input) {
        yield chunk;
        break;
      }
    },
    upload: async (input) => {
      let length = 0;
      for await (const chunk of input) length += chunk.length;
      return length;
    },
    download: (length) => [pattern(length)],
    wrong: () => ["text"] as unknown as StreamSource<Uint8Array>,
  });
}

describe.each(kinds)("raw bytes: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    let pair: Pair;
    let witness: Witness;
    beforeEach(async () => {
      witness = new Witness();
      pair = await kind.connect({}, { server: { routers: [bytesRouter(witness)] } });
    });
    afterEach(() => pair.close());
    const open = (name: "pipe" | "last" | "leave") => pair.client.duplex(methods[name], { via });
    const alive = async () =>
      expect(await pair.client.unary(plain.echo, { text: "a" }, { via })).toEqual({ text: "a" });

    it("C16 bytes pass untouched, of any values and length", async () => {
      const { readable, writable } = open("pipe");
      const sent = [pattern(1), new Uint8Array(0), pattern(300_000), pattern(7)];
      const reading = collect(readable);
      const writer = writable.getWriter();
      for (const chunk of sent) await writer.write(chunk);
      await writer.close();
      expect(Buffer.compare(Buffer.concat(await reading), Buffer.concat(sent))).toBe(0);
      await alive();
    });

    it("C16 the caller ends first, and reads on", async () => {
      const { readable, writable } = open("pipe");
      const writer = writable.getWriter();
      void writer.write(bytes("one"));
      await writer.close();
      expect(text(Buffer.concat(await collect(readable)))).toBe("one");
    });

    it("C16 the callee ends first, and reads on", async () => {
      const { readable, writable } = open("last");
      const writer = writable.getWriter();
      expect(text(Buffer.concat(await collect(readable)))).toBe("mine");
      await writer.write(bytes("after "));
      await writer.write(bytes("that"));
      await writer.close();
      await witness.until("read after that");
      await alive();
    });

    it("C28 a cancel after the callee's end reaches its handler", async () => {
      const abort = new AbortController();
      const { readable, writable } = pair.client.duplex(methods.last, { via, signal: abort.signal });
      await collect(readable);
      abort.abort();
      await witness.until("last cancelled");
      expect(await failure(writable.getWriter().closed)).toMatchObject({ code: "cancelled" });
      await alive();
    });

    it("C16 the callee ends both sides", async () => {
      const { readable, writable } = open("leave");
      const writer = writable.getWriter();
      await writer.write(bytes("x"));
      expect(text(Buffer.concat(await collect(readable)))).toBe("x");
      expect(await failure(writer.closed)).toMatchObject({ code: "cancelled", message: "the call is over" });
      await alive();
    });

    it("C16 one side alone: upload and download, beyond the limit of a frame", async () => {
      const large = pattern(5 * 1024 * 1024);
      expect(await pair.client.clientStream(methods.upload, [large, pattern(3)], { via })).toBe(large.length + 3);
      const chunks = await collect(pair.client.serverStream(methods.download, large.length, { via }));
      expect(Buffer.compare(Buffer.concat(chunks), large)).toBe(0);
    });

    it("what is no bytes is refused where it is given", async () => {
      const strings = ["text"] as unknown as StreamSource<Uint8Array>;
      expect(await failure(pair.client.clientStream(methods.upload, strings, { via }))).toMatchObject({
        code: "invalid_argument",
        message: "raw bytes are given as Uint8Array",
      });
      const error = await failure(collect(pair.client.serverStream(methods.wrong, undefined, { via })));
      expect(error).toMatchObject({ code: "internal", message: "the handler failed" });
      await alive();
    });
  });
});
