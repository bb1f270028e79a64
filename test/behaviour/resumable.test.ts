import { type Connection, type Interceptor, interceptRouter, RpcError } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectPairs } from "./connected-pairs.js";
import { distinctKinds, type Pair } from "./kinds.js";
import { Handlers, resumable, upTo } from "./resumable-service.js";

const UP_TO = 6;

describe.each(distinctKinds)("resumable calls: $name", (kind) => {
  let connection: Connection;
  let pairs: Pair[];
  let close: () => Promise<void>;
  let handlers: Handlers;
  let refusal: RpcError | undefined;
  beforeEach(() => {
    handlers = new Handlers();
    refusal = undefined;
    const guard: Interceptor = (call, next) => {
      if (refusal !== undefined) throw refusal;
      return next(call);
    };
    const router = interceptRouter(handlers.router, [guard]);
    ({ connection, pairs, close } = connectPairs(kind, { routers: [router], onError: () => {} }));
  });
  afterEach(() => close());

  const ends = {
    killed: (pair: Pair) => pair.server.close({ closeCode: 9 }),
    "lost here": (pair: Pair) => pair.client.close({ closeCode: 9 }),
  };
  const end = (how: keyof typeof ends): Promise<unknown> => ends[how](pairs.at(-1) as Pair);

  it.each(["killed", "lost here"] as const)(
    "C85 items come once, in order, both ways, with the session %s",
    async (how) => {
      const counted: number[] = [];
      for await (const item of connection.serverStream(resumable.count, UP_TO)) {
        counted.push(item);
        if (item % 3 === 0) void end(how);
      }
      expect(counted).toEqual(upTo(UP_TO));

      const { readable, writable } = connection.duplex(resumable.echo);
      const writer = writable.getWriter();
      const echoed: number[] = [];
      const items = readable.values();
      for (const item of upTo(UP_TO)) {
        await writer.write(item);
        const { value } = await items.next();
        echoed.push(value as number);
        if (item % 3 === 0) await end(how);
      }
      await writer.close();
      expect((await items.next()).done).toBe(true);
      expect(echoed).toEqual(upTo(UP_TO));

      const sent = (async function* () {
        for (const item of upTo(UP_TO)) {
          yield item;
          if (item % 3 === 0) await end(how);
        }
      })();
      expect(await connection.clientStream(resumable.collect, sent)).toEqual(upTo(UP_TO));
      expect(handlers.entered).toBe(3);
      expect(handlers.open).toBe(0);
      expect(connection.state).not.toHaveProperty("resuming");
    },
  );

  it("C86 a call's end that came to pass without a session arrives on the next", async () => {
    const { readable, writable } = connection.duplex(resumable.echo);
    const writer = writable.getWriter();
    const items = readable.values();
    await writer.write(1);
    expect((await items.next()).value).toBe(1);
    handlers.failure = new RpcError("aborted", "in the meantime", { details: { why: "because" } });
    await end("killed");
    await writer.close();
    const failed: unknown = await items.next().catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "aborted", details: { why: "because" } });
    expect(handlers.open).toBe(0);
  });

  it("C87 who may not make a call any more may not resume it either", async () => {
    const { readable, writable } = connection.duplex(resumable.echo);
    const items = readable.values();
    const writer = writable.getWriter();
    await writer.write(1);
    expect((await items.next()).value).toBe(1);
    refusal = new RpcError("permission_denied", "the account is closed");
    await end("killed");
    await expect(items.next()).rejects.toMatchObject({ code: "permission_denied" });
    await expect(writer.closed).rejects.toMatchObject({ code: "permission_denied" });
    await expect.poll(() => handlers.open).toBe(0);
  });
});
