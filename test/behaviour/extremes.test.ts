import { Buffer } from "node:buffer";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import type { Session } from "@quicrpc/core";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds, type Pair } from "./kinds.js";
import { collect } from "./tools.js";

const service = { name: "test.v1.Extremes", id: 4712 };
const Blank = zodCodec(z.object({ text: z.string().optional() }));
const bytes = uncheckedCodec<Uint8Array>();
const text = zodCodec(z.string());
const extremes = {
  copies: defineMethod(service, "server_stream", "copies", { id: 1, input: Blank, output: Blank }),
  keys: defineMethod(service, "client_stream", "keys", { id: 2, input: Blank, output: zodCodec(z.array(z.int())) }),
  mirror: defineMethod(service, "duplex", "mirror", { id: 3, input: Blank, output: Blank }),
  mirrorText: defineMethod(service, "duplex", "mirrorText", { id: 4, input: text, output: text }),
  echo: defineMethod(service, "unary", "echo", { id: 5, input: bytes, output: bytes }),
  mirrorBytes: defineMethod(service, "duplex", "mirrorBytes", { id: 6, input: bytes, output: bytes }),
};

const router = createRouter(extremes, {
  copies: (input) => [input, input, input],
  keys: async (items) => (await collect(items)).map((item) => Object.keys(item).length),
  mirror: (items) => items,
  mirrorText: (items) => items,
  echo: (input) => input,
  mirrorBytes: (items) => items,
});

const MiB = 1024 * 1024;

describe.each(kinds)("empty items and the largest: $name", (kind) => {
  let pair: Pair;
  const connect = async (maxFrameBytes?: number): Promise<Session> => {
    const limits = maxFrameBytes === undefined ? {} : { maxFrameBytes };
    pair = await kind.connect(limits, { server: { routers: [router] } });
    return pair.client;
  };
  afterEach(() => pair.close());

  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    it("C18 empty items in each stream kind", async () => {
      const client = await connect();
      expect(await collect(client.serverStream(extremes.copies, {}, { via }))).toEqual([{}, {}, {}]);
      expect(await client.clientStream(extremes.keys, [{}, { text: "" }, {}], { via })).toEqual([0, 1, 0]);
      const { readable, writable } = client.duplex(extremes.mirror, { via });
      const writer = writable.getWriter();
      await Promise.all([writer.write({}), writer.write({}), writer.close()]);
      expect(await collect(readable)).toEqual([{}, {}]);
      const texts = client.duplex(extremes.mirrorText, { via });
      const textWriter = texts.writable.getWriter();
      await Promise.all([textWriter.write(""), textWriter.write(""), textWriter.close()]);
      expect(await collect(texts.readable)).toEqual(["", ""]);
    });

    const size = kind.like === undefined ? 16 : 5;

    it(`C20 ${size} MiB payload with a raised limit`, async () => {
      const client = await connect((size + 1) * MiB);
      const payload = new Uint8Array(size * MiB);
      for (let i = 0; i < payload.length; i += 4093) payload[i] = i % 251;
      const answer = await client.unary(extremes.echo, payload, { via });
      expect(Buffer.compare(answer, payload)).toBe(0);
      const { readable, writable } = client.duplex(extremes.mirrorBytes, { via });
      const writer = writable.getWriter();
      const [items] = await Promise.all([collect(readable), writer.write(payload).then(() => writer.close())]);
      expect(items.map((item) => Buffer.compare(item, payload))).toEqual([0]);
    });
  });
});
