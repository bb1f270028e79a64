// Sessions of a server take turns, so that one with many calls does not hold up the others.
import { createRouter, defineMethod, uncheckedCodec, type Via } from "@quicrpc/core/generated";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { trustOf } from "./trust.js";

const service = { name: "test.v1.Turns", id: 7104 };
const block = defineMethod(service, "unary", "block", { id: 1, input: uncheckedCodec<number>() });
const polite = defineMethod(service, "unary", "polite", { id: 2 });
const give = defineMethod(service, "server_stream", "give", { id: 3, output: uncheckedCodec<number>() });
const few = defineMethod(service, "server_stream", "few", { id: 4, output: uncheckedCodec<number>() });

/** Calls of the greedy client. */
const CALLS = 200;
/** Items of each of its streams. */
const ITEMS = 500;
const word = new Int32Array(new SharedArrayBuffer(4));

describe.each(["quic", "https", "tls", "tcp", "wss", "ws"])("over %s", (scheme) => {
  it.each(["lane", "stream"] as Via[])(
    "a client is served next to handlers of another that block, by %s",
    async (via) => {
      const certificate = await devCertificate();
      const served: string[] = [];
      let onFirst: (() => void) | undefined;
      const handlers = {
        block(i: number): void {
          Atomics.wait(word, 0, 0, 2);
          served.push(`block ${i}`);
          onFirst?.();
          onFirst = undefined;
        },
        polite: () => void served.push("polite"),
      };
      const server = await serve({
        listen: [`${scheme}://127.0.0.1:0`],
        tls: certificate,
        routers: [createRouter({ block, polite }, handlers)],
      });
      onTestFinished(() => void server.close());
      const [url = ""] = server.urls;
      const [one, other] = await Promise.all([0, 1].map(() => connect(url, trustOf(url, certificate))));
      onTestFinished(() => void Promise.all([one?.close(), other?.close()]));
      await Promise.all([one?.unary(polite, undefined), other?.unary(polite, undefined)]);
      served.length = 0;
      const answered = new Promise<void>((resolve, reject) => {
        onFirst = () => void other?.unary(polite, undefined).then(resolve, reject);
      });
      const calls = Array.from({ length: CALLS }, (_, i) => one?.unary(block, i, { via }));
      await Promise.all([...calls, answered]);
      expect(served.indexOf("polite")).toBeLessThan(CALLS / 2);
      const blocked = served.filter((name) => name !== "polite");
      expect(blocked).toHaveLength(CALLS);
      if (via === "lane") expect(blocked).toEqual(Array.from({ length: CALLS }, (_, i) => `block ${i}`));
    },
  );

  it("streams with items that are ready leave turns to others", async () => {
    const certificate = await devCertificate();
    let given = 0;
    let last = 0;
    let most = 0;
    const handlers = {
      *give(): Generator<number> {
        for (let i = 0; i < ITEMS; i++) {
          given++;
          yield i;
        }
      },
    };
    const server = await serve({
      listen: [`${scheme}://127.0.0.1:0`],
      tls: certificate,
      routers: [createRouter({ give }, handlers)],
    });
    onTestFinished(() => void server.close());
    const [url = ""] = server.urls;
    const client = await connect(url, trustOf(url, certificate));
    onTestFinished(() => void client.close());
    const onTurn = (): void => {
      most = Math.max(most, given - last);
      last = given;
      if (given < CALLS * ITEMS) setImmediate(onTurn);
    };
    onTurn();
    const streams = Array.from({ length: CALLS }, async () => {
      let count = 0;
      for await (const _ of client.serverStream(give, undefined, { via: "lane" })) count++;
      return count;
    });
    expect(await Promise.all(streams)).toEqual(Array<number>(CALLS).fill(ITEMS));
    // Those of two turns, and one of each stream.
    expect(most).toBeLessThan(10_000);
  });

  it.each([
    ["an endless generator", endless],
    ["an array of 200,000 items", () => Array<number>(200_000).fill(1)],
  ])("a client receives its items next to %s of another", async (_, greedy) => {
    const certificate = await devCertificate();
    const handlers = { give: greedy, few: () => [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] };
    const server = await serve({
      listen: [`${scheme}://127.0.0.1:0`],
      tls: certificate,
      routers: [createRouter({ give, few }, handlers)],
    });
    onTestFinished(() => void server.close());
    const [url = ""] = server.urls;
    const one = await connect(url, trustOf(url, certificate));
    const other = await connect(url, trustOf(url, certificate));
    onTestFinished(() => void Promise.all([one.close(), other.close()]));
    const received: number[] = [];
    let items = 0;
    for await (const _ of one.serverStream(give, undefined, { via: "lane" })) {
      // Enough that the server's stream has waited for a turn.
      if (++items === 10_000) collect(other.serverStream(few, undefined, { via: "lane" }), received).catch(() => {});
      if (received.length === 10) break;
    }
    expect(received).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(items).toBeLessThan(200_000);
  });

  it("a client with one stream receives as many items as another with many", async () => {
    const certificate = await devCertificate();
    const server = await serve({
      listen: [`${scheme}://127.0.0.1:0`],
      tls: certificate,
      routers: [createRouter({ give }, { give: endless })],
    });
    onTestFinished(() => void server.close());
    const [url = ""] = server.urls;
    const [greedy, modest] = [
      await connect(url, trustOf(url, certificate)),
      await connect(url, trustOf(url, certificate)),
    ];
    onTestFinished(() => void Promise.all([greedy.close(), modest.close()]));
    let items = 0;
    const streams = Array.from({ length: CALLS }, async () => {
      for await (const _ of greedy.serverStream(give, undefined, { via: "lane" })) items++;
    });
    for (const stream of streams) stream.catch(() => {});
    await vi.waitUntil(() => items > 20_000);
    const before = items;
    let received = 0;
    for await (const _ of modest.serverStream(give, undefined, { via: "lane" })) if (++received === 20_000) break;
    expect(items - before).toBeLessThan(100_000);
  });
});

function* endless(): Generator<number> {
  for (;;) yield 1;
}

async function collect(items: AsyncIterable<number>, into: number[]): Promise<void> {
  for await (const item of items) into.push(item);
}
