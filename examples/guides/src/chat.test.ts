import { createConnection, createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it } from "vitest";
import { ChatLog, createChat, follow } from "./chat.js";
import { createChatClient } from "./generated/chat.js";

it("goes on where it was when its server dies, and when a page is loaded again", async () => {
  const log = new ChatLog();
  let server: Session | undefined;
  const connection = createConnection(
    async () => {
      const [near, far] = createMemoryPair();
      server = createSession(far, { routers: [createChat(log)] });
      return createSession(near);
    },
    { backoff: { initialMs: 1 } },
  );
  const cursors = new Map<string, string>();
  const kept = {
    getItem: (key: string) => cursors.get(key) ?? null,
    setItem: (key: string, value: string) => void cursors.set(key, value),
  };
  const shown: string[] = [];
  const until = async (count: number): Promise<void> => {
    const over = follow(
      createChatClient(connection),
      ({ text }) => {
        shown.push(text);
        if (shown.length === 2) void server?.close({ closeCode: 1 });
        if (shown.length === count) throw new Error("the page is closed");
      },
      kept,
    );
    await expect(over).rejects.toThrow("the page is closed");
  };
  for (const text of ["a", "b", "c"]) log.add(text);
  await until(3);
  for (const text of ["d", "e"]) log.add(text);
  await until(5);
  // The page was closed before it had dealt with "c".
  expect(shown).toEqual(["a", "b", "c", "c", "d"]);
  expect(kept.getItem("cursor")).toBe("3");
  await connection.close();
});
