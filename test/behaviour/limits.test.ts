import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

const service = { name: "test.v1.Strings", id: 7002 };
const strings = {
  take: defineMethod(service, "client_stream", "take", { id: 1, input: zodCodec(z.string()) }),
  give: defineMethod(service, "server_stream", "give", { id: 2, output: zodCodec(z.string()) }),
};

describe.each(kinds)("limits: $name", (kind) => {
  it("C51 a message exactly at maxFrameBytes passes · C52 one byte more names the limit, and the session lives", async () => {
    const pair = await kind.connect({ maxFrameBytes: 10_000 });
    try {
      // length 4, type 1, id 1, service 2, method 1; map 1, key 5, string head 3
      const most = 10_000 - (kind.frameBytes ?? 9) - 9;
      const text = "x".repeat(most);
      expect((await pair.client.unary(methods.echo, { text }, { via: "stream" })).text.length).toBe(most);
      const error = await failure(pair.client.unary(methods.echo, { text: `${text}x` }, { via: "stream" }));
      expect(error).toMatchObject({ code: "resource_exhausted" });
      expect(error.message).toMatch(kind.tooLarge ?? /10001 bytes.*limits\.maxFrameBytes is 10000/);
      expect(await pair.client.unary(methods.echo, { text: "alive" })).toEqual({ text: "alive" });
    } finally {
      await pair.close();
    }
  });
});

describe.each(kinds)("errors: $name", (kind) => {
  it("C52 a message beyond maxErrorMessageBytes is cut between characters", async () => {
    const pair = await kind.connect({}, { server: { limits: { maxErrorMessageBytes: 10 } } });
    const told = async (message: string): Promise<string> =>
      (await failure(pair.client.unary(methods.fail, { code: "aborted", message }))).message;
    expect(await told("0123456789")).toBe("0123456789");
    expect(await told("0123456789a")).toBe("0123456789");
    expect(await told("012345678é")).toBe("012345678");
    expect(await told("012345678🙂")).toBe("012345678");
    await pair.close();
  });
});

describe.each(kinds)("a peer with smaller limits: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    const maxFrameBytes = 10_000;
    const large = "x".repeat(20_000);
    const names = expect.stringMatching(
      kind.tooLarge ?? /frame of 2\d{4} bytes, and limits\.maxFrameBytes of its receiver is 10000/,
    );
    const exhausted = { code: "resource_exhausted", message: names };

    it("C52 a request, a notification and an item that are too large for the callee cost their call only", async () => {
      const pair = await kind.connect({}, { server: { limits: { maxFrameBytes } } });
      const open = pair.client.unary(methods.wait, { text: "open" }, { via });
      expect(await failure(pair.client.unary(methods.echo, { text: large }, { via }))).toMatchObject(exhausted);
      await pair.client.notify(methods.note, { text: large }, { via });
      await pair.witness.until("error a notification that is too large");
      const { readable, writable } = pair.client.duplex(methods.chat, { via });
      const iterator = readable[Symbol.asyncIterator]();
      const writer = writable.getWriter();
      expect((await iterator.next()).value).toBe("HELLO");
      await writer.write("a");
      expect((await iterator.next()).value).toBe("A");
      writer.write(large).catch(() => {});
      expect(await failure(iterator.next())).toMatchObject(exhausted);
      await pair.witness.until("wait open");
      pair.witness.release.get("open")?.();
      expect(await open).toEqual({ text: "open" });
      await pair.close();
    });

    it("C52 an answer that is too large for the caller costs its call only", async () => {
      const pair = await kind.connect({ maxFrameBytes: 50_000 }, { client: { limits: { maxFrameBytes: 30_000 } } });
      const text = "x".repeat(29_980);
      expect((await pair.client.unary(methods.echo, { text: "on" }, { via })).text).toBe("on");
      const items = pair.client.serverStream(methods.items, { n: 1, size: 40_000 }, { via });
      expect(await failure(items[Symbol.asyncIterator]().next())).toMatchObject({ code: "resource_exhausted" });
      expect((await pair.client.unary(methods.echo, { text }, { via })).text).toBe(text);
      await pair.close();
    });

    it("C53 items before one that is too large are delivered first, in both directions", async () => {
      const received: string[] = [];
      const router = createRouter(strings, {
        take: async (input) => {
          for await (const item of input) received.push(item);
        },
        give: () => ["a", "b", large, "c"],
      });
      const limits = { limits: { maxFrameBytes } };
      const callee = await kind.connect({}, { server: { routers: [router], ...limits } });
      const taken = callee.client.clientStream(strings.take, ["a", "b", large, "c"], { via });
      expect(await failure(taken)).toMatchObject(exhausted);
      expect(await callee.client.unary(methods.echo, { text: "on" }, { via })).toEqual({ text: "on" });
      expect(received).toEqual(["a", "b"]);
      await callee.close();

      const caller = await kind.connect({}, { server: { routers: [router] }, client: limits });
      const given = caller.client.serverStream(strings.give, undefined, { via })[Symbol.asyncIterator]();
      expect([(await given.next()).value, (await given.next()).value]).toEqual(["a", "b"]);
      expect(await failure(given.next())).toMatchObject(exhausted);
      expect(await caller.client.unary(methods.echo, { text: "on" }, { via })).toEqual({ text: "on" });
      await caller.close();
    });
  });
});
