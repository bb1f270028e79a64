import { createSession, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { describeFrame, type FrameDescription, tapFrames } from "@quicrpc/core/measure";
import { createMemoryPair, messagePortTransport } from "@quicrpc/core/transport";
import { expect, it } from "vitest";

const service = { name: "demo.v1.Tapped", id: 513 };
const text = uncheckedCodec<string>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  twice: defineMethod(service, "server_stream", "twice", { id: 2, input: text, output: text }),
  fail: defineMethod(service, "unary", "fail", { id: 3 }),
};
const router = createRouter(methods, {
  echo: (input) => input,
  *twice(input) {
    yield input;
    yield input;
  },
  fail: () => {
    throw new Error("a secret");
  },
});

type Told = FrameDescription & { readonly direction: string };

const kinds = {
  memory: () => createMemoryPair(),
  "one byte stream": () => {
    const { port1, port2 } = new MessageChannel();
    return [messagePortTransport(port1, "client"), messagePortTransport(port2, "server")] as const;
  },
};

function world(kind: keyof typeof kinds, onFrame: (told: Told) => void): Session {
  const [ours, theirs] = kinds[kind]();
  createSession(theirs, { routers: [router], onError: () => {} });
  return createSession(tapFrames(ours, ({ direction, frame }) => onFrame({ direction, ...describeFrame(frame) })));
}

it.each(Object.keys(kinds) as (keyof typeof kinds)[])("names the frames of calls both ways: over %s", async (kind) => {
  const told: Told[] = [];
  const session = world(kind, (one) => told.push(one));
  expect(await session.unary(methods.echo, "hi", { metadata: { tenant: "north" }, timeoutMs: 60_000 })).toBe("hi");
  const items: string[] = [];
  for await (const item of session.serverStream(methods.twice, "a")) items.push(item);
  expect(items).toEqual(["a", "a"]);
  await expect(session.unary(methods.fail, undefined)).rejects.toMatchObject({ code: "internal" });
  await session.close();
  expect(told).toContainEqual(
    expect.objectContaining({
      direction: "sent",
      type: "Request",
      fields: { service: 513, method: 1, timeoutMs: 60_000, metadata: [["tenant", "north"]], payload: 3 },
    }),
  );
  expect(told).toContainEqual(
    expect.objectContaining({ direction: "received", type: "Response", fields: { payload: 3 } }),
  );
  expect(told.filter(({ type, direction }) => type === "Item" && direction === "received")).toHaveLength(2);
  const error = told.find(({ type }) => type === "Error");
  expect(error?.fields).toMatchObject({ code: "internal" });
  expect(JSON.stringify(error)).not.toContain("secret");
});

it("calls go on where the tap's function throws", async () => {
  const session = world("memory", () => {
    throw new Error("a mistake");
  });
  expect(await session.unary(methods.echo, "hi")).toBe("hi");
  expect(await session.unary(methods.echo, "again")).toBe("again");
  await session.close();
});

it("a frame that is none says how", () => {
  const frame = { flags: 0, callId: 0, bytes: new Uint8Array(1), start: 0, end: 1, size: 3, oversized: false };
  expect(describeFrame({ ...frame, type: 1 }).fields).toHaveProperty("broken");
  expect(describeFrame({ ...frame, type: 99 })).toMatchObject({ type: "type 99", fields: { bytes: 1 } });
  expect(describeFrame({ ...frame, type: 5, oversized: true }).fields).toEqual({ oversized: true });
});
