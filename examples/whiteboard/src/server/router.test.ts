import { createMemoryPair, createSession, type Router, RpcError, type Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type BoardCommand,
  type BoardEvent,
  createPageRouter,
  createWhiteboardClient,
  type PageCursorInput,
  type WhiteboardClient,
  type WhiteboardJoinItem,
} from "../generated/whiteboard.js";
import { LIMITS } from "./limits.js";
import { Seat } from "./lobby.js";
import { whiteboardRouter } from "./router.js";

/** A participant without a page. */
interface Participant {
  readonly client: WhiteboardClient;
  readonly session: Session;
  readonly cursors: PageCursorInput[];
}

describe("the server", () => {
  let router: Router<Seat>;
  let sessions: Session[];

  beforeEach(() => {
    router = whiteboardRouter();
    sessions = [];
  });
  afterEach(async () => {
    await Promise.all(sessions.map((session) => session.close()));
  });

  function participant(): Participant {
    const cursors: PageCursorInput[] = [];
    const [near, far] = createMemoryPair();
    createSession(far, { routers: [router], connection: new Seat() });
    const session = createSession(near, {
      routers: [createPageRouter({ cursor: (cursor) => void cursors.push(cursor) })],
    });
    sessions.push(session);
    return { session, client: createWhiteboardClient(session), cursors };
  }

  /** Takes a seat; what it returns goes on telling who is there. */
  async function join({ client }: Participant, name: string): Promise<AsyncIterator<WhiteboardJoinItem>> {
    const presence = client.join({ name, secret: `the secret of ${name}` })[Symbol.asyncIterator]();
    await presence.next();
    return presence;
  }

  it("lets nobody do anything who has not joined", async () => {
    const { client } = participant();
    const refused = { code: "failed_precondition" };
    await expect(client.say({ text: "hello" })).rejects.toMatchObject(refused);
    await expect(client.upload([])).rejects.toMatchObject(refused);
    for (const stream of [client.draw().readable, client.messages({}), client.download({ id: "x" })]) {
      await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused);
    }
  });

  it("tells who is there, and who has left, however they left", async () => {
    const [ada, grace, linus] = [participant(), participant(), participant()];
    const presence = await join(ada, "Ada");
    const names = async (): Promise<string[]> => {
      const { value } = await presence.next();
      return (value as WhiteboardJoinItem).people.map(({ name }) => name);
    };
    const leaving = await join(grace, "Grace");
    expect(await names()).toEqual(["Ada", "Grace"]);
    await join(linus, "Linus");
    expect(await names()).toEqual(["Ada", "Grace", "Linus"]);
    await leaving.return?.();
    expect(await names()).toEqual(["Ada", "Linus"]);
    await linus.session.close();
    expect(await names()).toEqual(["Ada"]);
  });

  it("shows cursors to everyone else, counted for each", async () => {
    const [ada, grace] = [participant(), participant()];
    await join(ada, "Ada");
    await join(grace, "Grace");
    for (const x of [1, 2]) await ada.client.point({ x, y: 0 });
    // A call after them, in each direction.
    await ada.client.say({ text: "done" });
    await grace.client.say({ text: "done" });
    expect(grace.cursors).toMatchObject([
      { x: 1, count: 0 },
      { x: 2, count: 1 },
    ]);
    expect(ada.cursors).toEqual([]);
  });

  it("gives up a participant's board who does not read, lets others go on, and shows the board again", async () => {
    const [ada, slow] = [participant(), participant()];
    await join(ada, "Ada");
    await join(slow, "Slow");
    const unread = slow.client.draw().readable;
    const shown = unread[Symbol.asyncIterator]();
    expect(await shown.next()).toEqual({ done: false, value: { type: "shown" } });

    // More than flow control and the mailbox hold.
    const count = LIMITS.unread * 4;
    await drawLines(ada.client, count);

    let error: unknown;
    let read = 0;
    for (;;) {
      const next = await shown.next().catch((thrown: unknown) => {
        error = thrown;
      });
      if (next === undefined) break;
      read++;
    }
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: "resource_exhausted" });
    expect(read).toBeLessThan(count);
    expect(await linesOn(slow.client)).toBe(count);
  });
});

/** Returns when the server has drawn them all. */
async function drawLines(client: WhiteboardClient, count: number): Promise<void> {
  const { readable, writable } = client.draw();
  const points = Array.from({ length: 10 }, (_, x) => ({ x, y: 0 }));
  const writer = writable.getWriter();
  for (let line = 0; line < count; line++) {
    await writer.write({ type: "draw", piece: { line, color: "ink", width: 1, points } });
  }
  // Whoever undoes is told of it, in its turn.
  await writer.write({ type: "draw", piece: { line: count, color: "ink", width: 1, points } } satisfies BoardCommand);
  await writer.write({ type: "undo" });
  for await (const event of readable) if (event.type === "erased") return;
}

async function linesOn(client: WhiteboardClient): Promise<number> {
  const events: BoardEvent[] = [];
  for await (const event of client.draw().readable) {
    if (event.type === "shown") break;
    events.push(event);
  }
  return events.length;
}
