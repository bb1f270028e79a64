import { randomBytes } from "node:crypto";
import { RpcError, type SessionOptions } from "@quicrpc/core";
import type { Compression } from "@quicrpc/core/internal";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { nodeCompressions } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods as plain } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Compression", id: 79 };
const text = zodCodec(z.string());
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  /** Answers as it is told: compressed, not compressed, or by length. */
  reply: defineMethod(service, "unary", "reply", {
    id: 2,
    input: zodCodec(z.object({ compress: z.boolean().optional(), length: z.int() })),
    output: text,
  }),
  repeat: defineMethod(service, "duplex", "repeat", { id: 3, input: text, output: text }),
  fail: defineMethod(service, "unary", "fail", { id: 4, input: zodCodec(z.boolean().nullable()) }),
};
/** Text that compresses to about a quarter. */
const numbers = (length: number): string =>
  Array.from({ length: Math.ceil(length / 6) }, (_, index) => 100_000 + index)
    .join("")
    .slice(0, length);
const router = createRouter(methods, {
  echo: (value) => value,
  reply: ({ compress, length }, context) => {
    context.compress = compress;
    return numbers(length);
  },
  repeat: (input) => input,
  fail: (compress, context) => {
    context.compress = compress ?? undefined;
    throw new RpcError("aborted", "m".repeat(2000), { details: { why: "d".repeat(2000) } });
  },
});

const named = (name: string): Compression => nodeCompressions().find((each) => each.name === name) as Compression;

/** An algorithm that counts what it does. */
function counted(name: string): { algorithm: Compression; compressed: number[]; expanded: number[] } {
  const real = named(name);
  const compressed: number[] = [];
  const expanded: number[] = [];
  const algorithm: Compression = {
    name: real.name,
    compress(bytes) {
      compressed.push(bytes.length);
      return real.compress(bytes);
    },
    decompress(bytes, maxBytes) {
      const whole = real.decompress(bytes, maxBytes);
      expanded.push(whole.length);
      return whole;
    },
  };
  return { algorithm, compressed, expanded };
}

const available = nodeCompressions().map(({ name }) => name);
/** Skipped, and seen to be, where this Node lacks one. */
const algorithms = ["zstd", "gzip", "deflate"] as const;
const long = "x".repeat(5000);

it("this Node offers gzip and deflate, and zstd where it has it", () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const hasZstd = major > 23 || (major === 23 && minor >= 8) || (major === 22 && minor >= 15);
  expect(available).toEqual(hasZstd ? ["zstd", "gzip", "deflate"] : ["gzip", "deflate"]);
});

it.for(algorithms)("C54 %s spends little more memory on a bomb than the limit", (name, { skip }) => {
  skip(!available.includes(name));
  const algorithm = named(name);
  const bomb = algorithm.compress(new Uint8Array(100_000_000));
  const before = process.memoryUsage().arrayBuffers;
  expect(() => algorithm.decompress(bomb, 100_000)).toThrow(RangeError);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
});

describe.each(distinctKinds)("compression: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    /** A pair of which each side knows what the other reads. */
    async function connect(client: SessionOptions, server: SessionOptions): Promise<Pair> {
      const pair = await kind.connect({}, { client, server: { ...server, routers: [router] } });
      await pair.client.unary(plain.nothing, undefined, { via: "lane" });
      return pair;
    }

    it.for(algorithms)("C60 %s: messages from the threshold on, in both directions", async (name, { skip }) => {
      skip(!available.includes(name));
      const [ours, theirs] = [counted(name), counted(name)];
      const pair = await connect(
        { compression: { algorithms: [ours.algorithm] } },
        { compression: { algorithms: [theirs.algorithm], minBytes: 3000 } },
      );
      const call = (value: string) => pair.client.unary(methods.echo, value, { via });
      expect(await call("short")).toBe("short");
      expect(await call("x".repeat(2000))).toHaveLength(2000);
      expect(await call(long)).toBe(long);
      expect(ours).toMatchObject({ compressed: [2003, 5003], expanded: [5003] });
      expect(theirs).toMatchObject({ compressed: [5003], expanded: [2003, 5003] });
      await pair.close();
    });

    it("C60 on and off for each call and each answer", async () => {
      const [ours, theirs] = [counted("gzip"), counted("gzip")];
      const pair = await connect(
        { compression: { algorithms: [ours.algorithm] } },
        { compression: { algorithms: [theirs.algorithm] } },
      );
      await pair.client.unary(methods.echo, long, { via, compress: false });
      expect(ours.compressed).toEqual([]);
      await pair.client.unary(methods.echo, "x".repeat(100), { via, compress: true });
      expect(ours.compressed).toEqual([102]);
      theirs.compressed.length = 0;
      await pair.client.unary(methods.reply, { length: 5000, compress: false }, { via });
      expect(theirs.compressed).toEqual([]);
      await pair.client.unary(methods.reply, { length: 100, compress: true }, { via });
      expect(theirs.compressed).toEqual([102]);
      await pair.close();
    });

    it("C60 items of a stream, in both directions", async () => {
      const [ours, theirs] = [counted("deflate"), counted("deflate")];
      const pair = await connect(
        { compression: { algorithms: [ours.algorithm] } },
        { compression: { algorithms: [theirs.algorithm] } },
      );
      for (const compress of [undefined, false]) {
        const { readable, writable } = pair.client.duplex(methods.repeat, {
          via,
          ...(compress === false && { compress }),
        });
        const writer = writable.getWriter();
        for (const item of ["short", long]) void writer.write(item);
        void writer.close();
        expect(await collect(readable)).toEqual(["short", long]);
      }
      expect(ours.compressed).toEqual([5003]);
      expect(theirs.compressed).toEqual([5003, 5003]);
      await pair.close();
    });

    it("C60 errors too", async () => {
      const [ours, theirs] = [counted("gzip"), counted("gzip")];
      const pair = await connect(
        { compression: { algorithms: [ours.algorithm] } },
        { compression: { algorithms: [theirs.algorithm] } },
      );
      for (const compress of [null, false]) {
        expect(await failure(pair.client.unary(methods.fail, compress, { via }))).toMatchObject({
          code: "aborted",
          message: "m".repeat(2000),
          details: { why: "d".repeat(2000) },
        });
      }
      expect(ours.expanded).toHaveLength(1);
      expect(theirs.compressed).toHaveLength(1);
      await pair.close();
    });

    it("what does not get shorter is sent as it is", async () => {
      const [ours, theirs] = [counted("gzip"), counted("gzip")];
      const pair = await connect(
        { compression: { algorithms: [ours.algorithm] } },
        { compression: { algorithms: [theirs.algorithm] } },
      );
      const noise = randomBytes(3000).toString("latin1");
      expect(await pair.client.unary(methods.echo, noise, { via })).toBe(noise);
      const dense = randomBytes(8).toString("hex");
      expect(await pair.client.unary(methods.echo, dense, { via, compress: true })).toBe(dense);
      expect(ours.compressed).toHaveLength(2);
      expect(theirs.expanded.length).toBeLessThan(2);
      await pair.close();
    });

    it("C59 nothing is compressed for a peer that cannot read it", async () => {
      const ours = counted("gzip");
      for (const server of [{}, { compression: { algorithms: [named("deflate")] } }]) {
        const pair = await connect({ compression: { algorithms: [ours.algorithm] } }, server);
        expect(await pair.client.unary(methods.echo, long, { via, compress: true })).toBe(long);
        await pair.close();
      }
      expect(ours.compressed).toEqual([]);
    });

    it("C54 limits hold after decompression: a bomb costs its call", async () => {
      const limits = { maxDecompressedBytes: 100_000 };
      const compression = { algorithms: [named("gzip")] };
      const pair = await connect({ compression }, { compression, limits });
      const bomb = numbers(2_000_000);
      const error = await failure(pair.client.unary(methods.echo, bomb, { via }));
      expect(error).toMatchObject({
        code: "resource_exhausted",
        message: "the message is larger than 100000 bytes (limits.maxDecompressedBytes)",
      });
      expect(await pair.client.unary(methods.echo, numbers(99_995), { via })).toHaveLength(99_995);
      await pair.close();
    });

    it("C60 a message that would expand to more than 100 times its compressed size is sent as it is", async () => {
      const gzip = counted("gzip");
      const compression = { algorithms: [gzip.algorithm] };
      const pair = await connect({ compression }, { compression });
      const zeros = "0".repeat(1_000_000);
      expect(await pair.client.unary(methods.echo, zeros, { via, compress: true })).toBe(zeros);
      expect(gzip.expanded).toEqual([]);
      await pair.close();
    });

    it("C54 the same for answers and items that the caller gets", async () => {
      const limits = { maxDecompressedBytes: 100_000 };
      const compression = { algorithms: [named("gzip")] };
      const pair = await connect({ compression, limits }, { compression });
      const tooLarge = { code: "resource_exhausted", message: expect.stringContaining("limits.maxDecompressedBytes") };
      expect(await failure(pair.client.unary(methods.reply, { length: 200_000 }, { via }))).toMatchObject(tooLarge);
      const { readable, writable } = pair.client.duplex(methods.repeat, { via });
      const writer = writable.getWriter();
      void writer.write(numbers(200_000)).catch(() => {});
      expect(await failure(collect(readable))).toMatchObject(tooLarge);
      await pair.close();
    });
  });
});
