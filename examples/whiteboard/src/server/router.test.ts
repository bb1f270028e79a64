import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createTopics, type Topics } from "@quicrpc/topics";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  type BoardCommand,
  createPageRouter,
  createWhiteboardClient,
  type PageCursorInput,
  type WhiteboardClient,
  type WhiteboardJoinItem,
} from "../generated/whiteboard.js";
import { LIMITS } from "./limits.js";
import { participant, whiteboardRouter } from "./router.js";

/** A participant without a page. */
interface Participant {
  readonly client: WhiteboardClient;
  readonly session: Session;
  readonly cursors: PageCursorInput[];
}

const room = "lobby";
let topics: Topics;
let folder: string;
let sessions: Session[];

beforeEach(async () => {
  topics = createTopics({ limits: { maxHistoryMessages: LIMITS.history } });
  folder = await mkdtemp(join(tmpdir(), "quicrpc-whiteboard-"));
  sessions = [];
});
afterEach(async () => {
  await Promise.all(sessions.map((session) => session.close()));
  await topics.close();
  await rm(folder, { recursive: true });
});

/** Someone at a server of their own, which shares topics and files with all others. */
function come(id: string): Participant {
  const cursors: PageCursorInput[] = [];
  const [near, far] = createMemoryPair();
  createSession(far, { routers: [whiteboardRouter(topics, folder)], connection: id });
  const session = createSession(near, {
    routers: [createPageRouter({ cursor: (cursor) => void cursors.push(cursor) })],
  });
  sessions.push(session);
  return { session, client: createWhiteboardClient(session), cursors };
}

/** Takes part; what it returns goes on telling who does. */
async function enter({ client }: Participant, name: string): Promise<AsyncIterator<WhiteboardJoinItem>> {
  const turns = client.join({ room, name })[Symbol.asyncIterator]();
  await turns.next();
  return turns;
}

/** Until exactly these are there. */
async function until(turns: AsyncIterator<WhiteboardJoinItem>, names: readonly string[]): Promise<void> {
  for (;;) {
    const { value } = (await turns.next()) as IteratorYieldResult<WhiteboardJoinItem>;
    if (JSON.stringify(value.people.map(({ name }) => name).toSorted()) === JSON.stringify(names)) return;
  }
}

function drawing(line: number): BoardCommand {
  const points = Array.from({ length: 10 }, (_, x) => ({ x, y: 0 }));
  return { type: "draw", piece: { line, color: "ink", width: 1, points } };
}

it("a secret says who one is, without being told", () => {
  expect(participant("a secret of one's own")).toBe(participant("a secret of one's own"));
  expect(participant("a secret of one's own")).not.toBe(participant("a secret of another"));
  for (const secret of [undefined, "", "short"]) expect(() => participant(secret)).toThrow("choose a secret first");
});

it("a server tells who is in a room, at any of them, and who has left, however they left", async () => {
  const [ada, grace, linus] = [come("a"), come("g"), come("l")];
  const turns = await enter(ada, "Ada");
  const leaving = await enter(grace, "Grace");
  await until(turns, ["Ada", "Grace"]);
  await until(leaving, ["Ada", "Grace"]);
  await enter(linus, "Linus");
  await until(turns, ["Ada", "Grace", "Linus"]);
  await leaving.return?.();
  await until(turns, ["Ada", "Linus"]);
  await linus.session.close();
  await until(turns, ["Ada"]);
});

it("cursors are shown to everyone else, counted for each", async () => {
  const [ada, grace] = [come("a"), come("g")];
  const turns = await enter(ada, "Ada");
  await enter(grace, "Grace");
  await until(turns, ["Ada", "Grace"]);
  for (const x of [1, 2]) await ada.client.point({ room, x, y: 0 });
  await expect.poll(() => grace.cursors.length, { timeout: 15_000 }).toBe(2);
  expect(grace.cursors).toMatchObject([
    { by: "a", x: 1, count: 0 },
    { by: "a", x: 2, count: 1 },
  ]);
  expect(ada.cursors).toEqual([]);
});

it("a call that is repeated, at another server, does what it does once", async () => {
  const [first, second] = [come("a"), come("a")];
  for (const { client } of [first, second]) {
    await client.change({ room, id: "1", commands: [drawing(1)] });
    await client.say({ room, id: "1", name: "Ada", text: "hello" });
    const content = new Blob(["what is in it"]);
    await client.share({ room, id: "2", name: "Ada", file: { content, name: "f.txt" } });
  }
  // Ids of different participants are independent.
  await come("g").client.change({ room, id: "1", commands: [drawing(2)] });
  const changes: string[] = [];
  for await (const { message } of second.client.subscribeBoard({ room }, { from: "0" })) {
    if (message !== undefined) changes.push(message.by);
    if (message?.by === "g") break;
  }
  expect(changes).toEqual(["a", "g"]);
  await second.client.say({ room, id: "3", name: "Ada", text: "last" });
  const said: string[] = [];
  for await (const { message } of second.client.subscribeChat({ room }, { from: "0" })) {
    said.push(message?.file?.name ?? message?.text ?? "");
    if (message?.text === "last") break;
  }
  expect(said).toEqual(["hello", "f.txt", "last"]);
});

it("nobody but the servers tells what happens on a board", async () => {
  const { client } = come("a");
  const message = { by: "g", id: "1", commands: [drawing(1)] };
  await expect(client.publishBoard({ room, message })).rejects.toMatchObject({ code: "permission_denied" });
});

it("one who does not read holds up nobody, and lacks nothing afterwards", async () => {
  const [ada, slow] = [come("a"), come("s")];
  const unread = slow.client.subscribeBoard({ room });
  const items = unread[Symbol.asyncIterator]();
  await items.next();
  // More than flow control and the subscription's queue hold.
  const [count, each] = [50_000, 64];
  for (let line = 0; line < count; line += each) {
    const commands = Array.from({ length: Math.min(each, count - line) }, (_, at) => drawing(line + at));
    await ada.client.change({ room, id: String(line), commands });
  }
  const lines: number[] = [];
  const take = async (from: AsyncIterator<{ message?: { commands: BoardCommand[] } | undefined }>): Promise<void> => {
    while (lines.length < count) {
      const { value } = await from.next();
      for (const command of value?.message?.commands ?? []) if (command.type === "draw") lines.push(command.piece.line);
    }
  };
  // A session, since a connection would resume by itself.
  await expect(take(items)).rejects.toMatchObject({ code: "unavailable" });
  expect(lines.length).toBeLessThan(count);
  const { cursor } = unread;
  await take(slow.client.subscribeBoard({ room }, { from: String(cursor) })[Symbol.asyncIterator]());
  expect(lines).toEqual(Array.from({ length: count }, (_, line) => line));
});

it("a file is brought to whoever asks for it, the oldest go, and one that is not there is said to be gone", async () => {
  const { client } = come("a");
  const share = (id: string, bytes: number) =>
    client.share({
      room,
      id,
      name: "Ada",
      file: { content: new Blob([new Uint8Array(bytes)]), name: id, type: "x/y" },
    });
  await share("small", 3);
  const large = 32 * 1024 * 1024;
  await expect(share("huge", large + 1)).rejects.toMatchObject({ code: "resource_exhausted" });
  for (let at = 0; at < LIMITS.fileBytes / large; at++) await share(String(at), large);
  const ids: string[] = [];
  for await (const { message } of client.subscribeChat({ room }, { from: "0" })) {
    if (message?.file === undefined) continue;
    ids.push(message.file.id);
    if (ids.length === 1 + LIMITS.fileBytes / large) break;
  }
  const gone = { code: "not_found" };
  const [oldest = ""] = ids;
  for (const id of [oldest, "../history", ""]) await expect(client.download({ id })).rejects.toMatchObject(gone);
  const { file } = await client.download({ id: ids.at(-1) as string });
  let read = 0;
  for await (const chunk of file) read += chunk.length;
  expect(read).toBe(large);
}, 60_000);
