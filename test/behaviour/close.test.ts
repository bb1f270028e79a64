// What a close knows of the notifications that were sent before it.
import { createSession, type Session } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { kinds } from "./kinds.js";
import { expose, viasOf } from "./raw.js";
import { methods, Witness } from "./service.js";
import { sessionOptions } from "./session-options.js";

const COUNT = 400;

async function notifyAll(session: Session, via: "lane" | "stream", count = COUNT): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => session.notify(methods.note, { text: String(i) }, { via })),
  );
}

describe.each(kinds)("close: $name", (kind) => {
  describe.each(viasOf(kind))("by %s", (via) => {
    it("C14 with everything acknowledged, everything has arrived", async () => {
      const pair = await kind.connect();
      await notifyAll(pair.client, via);
      expect(await pair.client.close()).toMatchObject({ closeCode: 0, error: undefined, unacknowledged: 0 });
      expect(pair.witness.events).toHaveLength(COUNT);
      await pair.close();
    });

    it("C14 a peer that stands still is waited for", async () => {
      const { client, server, release } = await kind.join();
      const witness = new Witness();
      const session = createSession(kind.face(client));
      await notifyAll(session, via);
      const closing = session.close();
      // Until now it has read nothing.
      const peer = createSession(kind.face(server), sessionOptions(witness, {}));
      expect(await closing).toMatchObject({ closeCode: 0, unacknowledged: 0 });
      expect(witness.events).toHaveLength(COUNT);
      await peer.closed;
      await release();
    });

    it("C14 a peer that never answers: the close resolves in time, with what was not acknowledged", () =>
      expose(kind, "callee", async ({ session }) => {
        await notifyAll(session, via, 20);
        expect(session.unacknowledged).toBe(20);
        expect(await session.close({ timeoutMs: 20 })).toMatchObject({ closeCode: 0, unacknowledged: 20 });
      }));

    it("C14 with another code, or a session that is lost, nobody waits", async () => {
      await expose(kind, "callee", async ({ session }) => {
        await notifyAll(session, via, 20);
        expect(await session.close({ closeCode: 7 })).toMatchObject({ closeCode: 7, unacknowledged: 20 });
      });
      await expose(kind, "callee", async ({ session, peer }) => {
        await notifyAll(session, via, 20);
        await peer.first();
        peer.close();
        await session.closed;
        expect(await session.close()).toMatchObject({ unacknowledged: 20 });
      });
    });
  });

  it("C14 both sides close at once: neither waits for the other's time to be up", async () => {
    const pair = await kind.connect({ maxAcknowledgeMs: 60_000 });
    await Promise.all([notifyAll(pair.client, "lane", 20), notifyAll(pair.server, "lane", 20)]);
    await Promise.all([pair.client.close(), pair.server.close()]);
    await pair.close();
  });

  it("C14 of a session that the peer drains, all was received", async () => {
    const pair = await kind.connect();
    await notifyAll(pair.client, "lane", 20);
    await pair.server.drain();
    await pair.client.closed;
    expect(pair.client.unacknowledged).toBe(0);
    expect(pair.witness.events).toHaveLength(20);
    await pair.close();
  });

  it("C14 a drain tells the same", async () => {
    const pair = await kind.connect();
    await notifyAll(pair.client, "lane", 20);
    expect(await pair.client.drain()).toMatchObject({ closeCode: 0, unacknowledged: 0 });
    expect(pair.witness.events).toHaveLength(20);
    await pair.close();
  });
});
