import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { ItemStream, Session } from "@quicrpc/core";
import { afterEach, describe, expect, it } from "vitest";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

const service = { name: "test.v1.Outliving", id: 4715 };
const number = uncheckedCodec<number>();
const outliving = {
  unary: defineMethod(service, "unary", "unary", { id: 1, input: number, output: number }),
  server: defineMethod(service, "server_stream", "server", { id: 2, input: number, output: number }),
  client: defineMethod(service, "client_stream", "client", { id: 3, input: number, output: number }),
  duplex: defineMethod(service, "duplex", "duplex", { id: 4, input: number, output: number }),
};
const MAX_CALLS = 2;

/** Handlers that take no notice of their signals. */
class Handlers {
  running = 0;
  private release: (() => void)[] = [];
  private readonly changes: (() => void)[] = [];

  async run(): Promise<number> {
    this.running++;
    this.changed();
    await new Promise<void>((resolve) => this.release.push(resolve));
    this.running--;
    this.changed();
    return 1;
  }

  async *stream(): AsyncGenerator<number> {
    yield await this.run();
  }

  releaseAll(): void {
    for (const resolve of this.release.splice(0)) resolve();
  }

  async until(running: number): Promise<void> {
    while (this.running !== running) await new Promise<void>((resolve) => this.changes.push(resolve));
  }

  private changed(): void {
    for (const resolve of this.changes.splice(0)) resolve();
  }
}

type Options = { readonly via: "lane" | "stream"; readonly signal?: AbortSignal; readonly timeoutMs?: number };
type Make = (client: Session, options: Options) => Promise<unknown>;

const first = (stream: ItemStream<number>): Promise<unknown> => stream[Symbol.asyncIterator]().next();

const makes: Readonly<Record<string, Make>> = {
  unary: (client, options) => client.unary(outliving.unary, 1, options),
  "server stream": (client, options) => first(client.serverStream(outliving.server, 1, options)),
  "client stream": (client, options) => client.clientStream(outliving.client, [1], options),
  duplex: (client, options) => first(client.duplex(outliving.duplex, options).readable),
};

describe.each(distinctKinds)("outliving: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    const handlers = new Handlers();
    let pair: Pair;
    afterEach(() => pair.close());

    async function connect(limits: { readonly handlerGraceMs?: number } = {}): Promise<void> {
      const router = createRouter(outliving, {
        unary: () => handlers.run(),
        server: () => handlers.stream(),
        client: () => handlers.run(),
        duplex: () => handlers.stream(),
      });
      const server = { routers: [router], limits: { maxCalls: MAX_CALLS, ...limits } };
      pair = await kind.connect({}, { server });
    }

    /** Waits until the server has seen that the calls are over: what follows them on a lane, or after them, is served. */
    async function settled(calls: readonly Promise<unknown>[]): Promise<void> {
      await Promise.all(calls.map(failure));
      await pair.client.unary(methods.echo, { text: "" }).catch(() => {});
    }

    it.each(Object.entries(makes))("C72 handlers of cancelled calls count until they settle: %s", async (_, make) => {
      await connect();
      const abort = new AbortController();
      const calls = Array.from({ length: MAX_CALLS }, () => make(pair.client, { via, signal: abort.signal }));
      await handlers.until(MAX_CALLS);
      abort.abort();
      await settled(calls);
      const refused = await failure(make(pair.client, { via }));
      expect(refused).toMatchObject({ code: "resource_exhausted", refused: true });
      expect(handlers.running).toBe(MAX_CALLS);
      handlers.releaseAll();
      await handlers.until(0);
      // A generator's end is known some microtasks after its handler's.
      await new Promise(setImmediate);
      const next = make(pair.client, { via });
      await handlers.until(1);
      handlers.releaseAll();
      await next;
    });

    it.each(Object.entries(makes))("C72 so do those of calls whose deadline has passed: %s", async (_, make) => {
      await connect();
      // From the start: on a busy machine the deadline passes before the handlers run.
      const over = settled(Array.from({ length: MAX_CALLS }, () => make(pair.client, { via, timeoutMs: 200 })));
      await handlers.until(MAX_CALLS);
      await over;
      // By its own clock the server may find out a little later; either way there is no room.
      expect(await failure(make(pair.client, { via }))).toMatchObject({ code: "resource_exhausted" });
      expect(handlers.running).toBe(MAX_CALLS);
      handlers.releaseAll();
      await handlers.until(0);
    });

    it("C72 a handler that runs on is reported, and named where calls are refused for it", async () => {
      await connect({ handlerGraceMs: 1 });
      const abort = new AbortController();
      const calls = Array.from({ length: MAX_CALLS }, () =>
        pair.client.unary(outliving.unary, 1, { via, signal: abort.signal }),
      );
      await handlers.until(MAX_CALLS);
      abort.abort();
      await settled(calls);
      await pair.witness.until("error test.v1.Outliving/unary");
      const { error } = pair.witness.errors[0] as { error: Error };
      expect(error.message).toMatch(/still running 1 ms after its call ended \(limits\.handlerGraceMs\)/);
      const { message } = await failure(pair.client.unary(outliving.unary, 1, { via }));
      expect(message).toBe("2 calls are in progress (limits.maxCalls), 2 of them over but for handlers that run on");
      handlers.releaseAll();
      await handlers.until(0);
    });

    it("C72 a drain waits for them", async () => {
      await connect();
      const abort = new AbortController();
      const call = pair.client.unary(outliving.unary, 1, { via, signal: abort.signal });
      await handlers.until(1);
      abort.abort();
      await settled([call]);
      let drained = false;
      const drain = pair.server.drain().then((end) => {
        drained = true;
        return end;
      });
      await pair.client.draining;
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
      expect(drained).toBe(false);
      handlers.releaseAll();
      expect(await drain).toMatchObject({ closeCode: 0 });
    });
  });
});
