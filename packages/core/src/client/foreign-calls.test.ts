import { expect, it } from "vitest";
import { describeMethod } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import { createSession } from "../session/create-session.js";
import { createMemoryPair } from "../transport/memory.js";
import {
  foreignClientStreamCalls,
  foreignDuplexCalls,
  foreignNotifyCalls,
  foreignServerStreamCalls,
  foreignUnaryCalls,
} from "./foreign-calls.js";

it("a client that was generated for HTTP alone says so on a session, for every kind of call", async () => {
  const service = { name: "demo.v1.Demo", id: 1 };
  const [near] = createMemoryPair();
  const session = createSession(near);
  const { readable, writable } = session.duplex(describeMethod(service, foreignDuplexCalls, "e", { id: 5 }));
  const stream = session.serverStream(describeMethod(service, foreignServerStreamCalls, "c", { id: 3 }), undefined);
  const items = stream[Symbol.asyncIterator]();
  const calls: Promise<unknown>[] = [
    session.unary(describeMethod(service, foreignUnaryCalls, "a", { id: 1 }), undefined),
    session.notify(describeMethod(service, foreignNotifyCalls, "b", { id: 2 }), undefined),
    items.next(),
    session.clientStream(describeMethod(service, foreignClientStreamCalls, "d", { id: 4 }), []),
    readable[Symbol.asyncIterator]().next(),
    writable.getWriter().closed,
  ];
  for (const call of await Promise.allSettled(calls)) {
    const { reason } = call as { readonly reason?: RpcError };
    expect(reason).toMatchObject({ code: "unimplemented", refused: true });
    expect(reason?.message).toContain("generated for HTTP alone");
  }
  await session.close();
});
