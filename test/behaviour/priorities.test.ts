// A call's priority reaches the stream that it travels on, at both ends, and what is urgent leaves first.
import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds } from "./kinds.js";

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

const overQuic = kinds.filter(({ name }) => ["QUIC", "QUIC, thread driver", "WebTransport"].includes(name));

describe.each(overQuic)("where the connection is the bottleneck: $name", (kind) => {
  // More than may be in flight at first, and less than a socket buffer holds: nothing is lost on the way.
  const large = "x".repeat(30_000);
  const bulk = { name: "test.v1.Bulk", id: 7302 };
  const handled: string[] = [];
  const answers: Map<string, () => void> = new Map();
  /** The name is the text's first letter: large texts are told apart by it. */
  const named = (name: string): string => name + large;
  const upload = {
    plain: defineMethod(bulk, "unary", "plain", { id: 1, input: text }),
    urgent: defineMethod(bulk, "unary", "urgent", { id: 2, input: text, priority: 5 }),
  };
  const download = {
    plain: defineMethod(bulk, "unary", "plainAnswer", { id: 3, input: text, output: text, via: "stream" }),
    urgent: defineMethod(bulk, "unary", "urgentAnswer", { id: 4, input: text, output: text, priority: 5 }),
    idle: defineMethod(bulk, "unary", "idleAnswer", { id: 5, input: text, output: text, priority: -5 }),
  };
  const take = (input: string): void => void handled.push(input.charAt(0));
  /** Answers when all have been asked, in the order of their names. */
  const answer = (input: string): Promise<string> =>
    new Promise((resolve) => {
      answers.set(input, () => resolve(named(input)));
      if (answers.size === 5) for (const name of [...answers.keys()].toSorted()) answers.get(name)?.();
    });
  const routers = [
    createRouter(upload, { plain: take, urgent: take }),
    createRouter(download, { plain: answer, urgent: answer, idle: answer }),
  ];

  it("a call with a priority overtakes those made before it, and those with less than none come last", async () => {
    handled.length = 0;
    const pair = await kind.connect({}, { server: { routers } });
    await Promise.all([
      pair.client.unary(upload.plain, named("l"), { priority: -1 }),
      pair.client.unary(upload.plain, named("p"), { via: "stream" }),
      pair.client.unary(upload.urgent, named("u")),
    ]);
    expect(handled).toEqual(["u", "p", "l"]);
    await pair.close();
  });

  it("so does the answer of a method with a priority", async () => {
    answers.clear();
    const pair = await kind.connect({}, { server: { routers } });
    const answered: string[] = [];
    const ask = async (method: (typeof download)["plain"], name: string): Promise<void> => {
      await pair.client.unary(method, name);
      answered.push(name);
    };
    await Promise.all([
      ask(download.idle, "a"),
      ...["b", "c", "d"].map((name) => ask(download.plain, name)),
      ask(download.urgent, "e"),
    ]);
    expect([answered.at(0), answered.at(-1)]).toEqual(["e", "a"]);
    await pair.close();
  });
});
