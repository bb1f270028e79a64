import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { RpcError } from "../errors.js";
import { createRouter } from "../server/router.js";
import { createMemoryPair } from "../transport/memory.js";
import { createClientSession } from "./create-client-session.js";
import { createSession } from "./create-session.js";
import type { Session } from "./session.js";

const service = { name: "test.v1.Explained", id: 80 };
const text = uncheckedCodec<string>();
const methods = {
  refuse: defineMethod(service, "unary", "refuse", { id: 1, input: text, output: text }),
  break: defineMethod(service, "server_stream", "break", { id: 2, input: text, output: text }),
  missing: defineMethod(service, "unary", "missing", { id: 3, input: text, output: text }),
};
const { missing: _, ...served } = methods;
const details = { issues: [{ at: "b", least: 3n }] };

describe("a session that only calls", () => {
  let client: Session;
  beforeEach(() => {
    vi.resetModules();
    const [ours, theirs] = createMemoryPair();
    const refusal = (): RpcError => new RpcError("failed_precondition", "not now", { details });
    const router = createRouter(served, {
      refuse: () => Promise.reject(refusal()),
      break: () => new ReadableStream({ start: (controller) => controller.error(refusal()) }),
    });
    createSession(theirs, { routers: [router] });
    client = createClientSession(ours);
  });
  afterEach(() => {
    vi.doUnmock("./loaded-later.js");
    vi.useRealTimers();
  });

  it("reads details that no schema declares before a caller has the error, in calls and streams", async () => {
    const read = { issues: [{ at: "b", least: 3 }] };
    await expect(client.unary(methods.refuse, "")).rejects.toMatchObject({ message: "not now", details: read });
    await expect(client.serverStream(methods.break, "").values().next()).rejects.toMatchObject({ details: read });
    await expect(client.serverStream(methods.break, "").getReader().read()).rejects.toMatchObject({ details: read });
  });

  it("names what is not served", async () => {
    await expect(client.unary(methods.missing, "")).rejects.toMatchObject({
      message: expect.stringContaining("test.v1.Explained has no method missing"),
      hint: expect.stringContaining("another version of the schema"),
    });
  });

  it("says in the hint that what explains an error cannot be loaded", async () => {
    vi.doMock("./loaded-later.js", () => {
      throw new Error("offline");
    });
    await expect(client.unary(methods.refuse, "")).rejects.toMatchObject({
      code: "failed_precondition",
      message: "not now",
      details: undefined,
      hint: expect.stringContaining("cannot be loaded"),
    });
  });

  it("waits no longer than 3 s for it", async () => {
    vi.doMock("./loaded-later.js", () => new Promise(() => {}));
    vi.useFakeTimers();
    const failed = client.unary(methods.refuse, "").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(3000);
    expect(await failed).toMatchObject({
      code: "failed_precondition",
      hint: "what explains it cannot be loaded: no answer within 3000 ms",
    });
  });
});
