import { expect, it } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { createRouter } from "../server/router.js";
import { createMemoryPair } from "../transport/memory.js";
import { createSession } from "./create-session.js";

const text = uncheckedCodec<string>();
const methods = {
  wait: defineMethod({ name: "test.v1.Waiting", id: 80 }, "unary", "wait", { id: 1, input: text, output: text }),
};

it("a drain waits for the calls of a lane that takes no more, whatever lane came after it", async () => {
  const ends = new Map<string, () => void>();
  const wait = (name: string): Promise<string> => new Promise((resolve) => ends.set(name, () => resolve(name)));
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [createRouter(methods, { wait })] });
  const session = createSession(ours, { limits: { maxCallsPerLane: 2 } });
  const first = session.unary(methods.wait, "first");
  const abort = new AbortController();
  const second = session.unary(methods.wait, "second", { signal: abort.signal }).catch(() => "given up");
  abort.abort();
  await second;
  const third = session.unary(methods.wait, "third");
  await expect.poll(() => ends.has("third")).toBe(true);
  ends.get("third")?.();
  await third;
  const drained = session.drain();
  let isOver = false;
  void drained.then(() => (isOver = true));
  // After these round trips, a session that can end has ended.
  for (let trips = 0; trips < 3; trips++) await session.ping();
  expect(isOver).toBe(false);
  ends.get("first")?.();
  expect(await first).toBe("first");
  expect(await drained).toMatchObject({ closeCode: 0 });
});
