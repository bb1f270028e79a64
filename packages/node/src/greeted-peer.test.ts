import { createSession, DEFAULT_LIMITS } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it } from "vitest";
import { greetedPeer } from "./greeted-peer.js";
import type { IncomingSession } from "./listen/listener.js";

it("a greeting is read once, and forgotten when it has been decided about its client", async () => {
  const [near, far] = createMemoryPair();
  const client = createSession(near, { credentials: "secret", metadata: { tenant: "north" } });
  const pending = { remainingMs: 1000, arrived() {}, onGone() {}, admit: () => true, refuse() {} };
  const incoming = { transport: far, peer: {}, pending } as unknown as IncomingSession;
  const { peer, releaseGreeting } = greetedPeer(incoming, DEFAULT_LIMITS, undefined);
  expect(await peer.credentials).toBe("secret");
  expect((await peer.metadata).get("tenant")).toBe("north");
  releaseGreeting();
  await expect(peer.credentials).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(peer.metadata).rejects.toThrow("only available until `authenticate` has decided");
  near.close();
  await client.closed;
});

it("nothing is read of a client once it has been decided", async () => {
  const [, far] = createMemoryPair();
  const incoming = { transport: far, peer: {}, pending: {} } as unknown as IncomingSession;
  const { peer, releaseGreeting } = greetedPeer(incoming, DEFAULT_LIMITS, undefined);
  releaseGreeting();
  await expect(peer.credentials).rejects.toMatchObject({ code: "failed_precondition" });
});
