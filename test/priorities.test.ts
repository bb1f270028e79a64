// A call's priority reaches the stream that it travels on, at both ends.
import {
  createMemoryPair,
  createRouter,
  createSession,
  defineMethod,
  type DirectSession,
  zodCodec,
} from "@quicrpc/core";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";

const service = { name: "test.v1.Urgent", id: 7301 };
const text = zodCodec(z.string());
const methods = {
  plain: defineMethod(service, "unary", "plain", { id: 1, input: text, output: text }),
  urgent: defineMethod(service, "unary", "urgent", { id: 2, input: text, output: text, priority: 5 }),
};

/** `session`, whose streams note the priorities that they are given. */
function noting(session: DirectSession, priorities: number[]): DirectSession {
  const noted = <S extends object>(stream: S): S =>
    Object.assign(stream, { setPriority: (priority: number) => void priorities.push(priority) });
  return {
    attach: (handler) =>
      session.attach({
        onStream: (stream) => handler.onStream(noted(stream)),
        onClosed: (info, error) => handler.onClosed(info, error),
      }),
    openStream: () => noted(session.openStream()),
    close: (info) => session.close(info),
  };
}

describe("priorities", () => {
  let caller: number[];
  let callee: number[];
  let client: ReturnType<typeof createSession>;
  beforeEach(() => {
    [caller, callee] = [[], []];
    const [ours, theirs] = createMemoryPair();
    const router = createRouter(methods, { plain: (input) => input, urgent: (input) => input });
    createSession(noting(theirs, callee), { routers: [router] });
    client = createSession(noting(ours, caller));
  });

  it("of a method hold at both ends", async () => {
    await client.unary(methods.urgent, "a");
    expect({ caller, callee }).toEqual({ caller: [5], callee: [5] });
  });

  it("of a call come before its method's, at the caller's end", async () => {
    await client.unary(methods.urgent, "a", { priority: 9 });
    await client.unary(methods.plain, "a", { priority: -1 });
    expect({ caller, callee }).toEqual({ caller: [9, -1], callee: [5] });
  });

  it("say nothing of a lane, which other calls share", async () => {
    await client.unary(methods.urgent, "a", { via: "lane" });
    await client.unary(methods.plain, "a");
    expect({ caller, callee }).toEqual({ caller: [], callee: [] });
  });
});
