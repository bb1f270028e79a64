import { createSession, DEFAULT_LIMITS } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it } from "vitest";
import { greetedPeer } from "./greeted-peer.js";
import type { Arrival } from "./listen/listener.js";

it("a greeting is read once, and forgotten when it has been decided about its client", async () => {
  const [near, far] = createMemoryPair();
  const client = createSession(near, { credentials: "secret", metadata: { tenant: "north" } });
  const visit = { remainingMs: 1000, arrived() {}, onGone() {}, admit: () => true, refuse() {} };
  const arrival = { transport: far, peer: {}, visit } as unknown as Arrival;
  const { peer, forget } = greetedPeer(arrival, DEFAULT_LIMITS, undefined);
  expect(await peer.credentials).toBe("secret");
  expect((await peer.metadata).get("tenant")).toBe("north");
  forget();
  await expect(peer.credentials).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(peer.metadata).rejects.toThrow("kept until authenticate has decided");
  near.close();
  await client.closed;
});

it("nothing is read of a client once it has been decided", async () => {
  const [, far] = createMemoryPair();
  const arrival = { transport: far, peer: {}, visit: {} } as unknown as Arrival;
  const { peer, forget } = greetedPeer(arrival, DEFAULT_LIMITS, undefined);
  forget();
  await expect(peer.credentials).rejects.toMatchObject({ code: "failed_precondition" });
});
