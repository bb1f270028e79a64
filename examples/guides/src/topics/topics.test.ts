// The programs of docs/topics.md, each in a process of its own.
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { createLocalCaller } from "@quicrpc/core";
import { createTopics } from "@quicrpc/topics";
import { expect, it } from "vitest";
import { freePort } from "../../../../scripts/free-port.mjs";
import { createChatClient, createChatRouter, createChatTopics, type Message } from "./generated/chat.js";
import { programOn } from "../program.js";
import { showNotices } from "./notices.js";

it("a client hears what it says in a room", async () => {
  const port = await freePort();
  const server = spawn(process.execPath, [await programOn(port, "topics/server.ts")], { stdio: "inherit" });
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [await programOn(port, "topics/client.ts")]);
    expect(stdout).toBe("Ada: hello\n");
  } finally {
    server.kill();
  }
}, 60_000);

it("a page that is loaded again gets what it has not had", async () => {
  const chat = createChatTopics(createTopics(), {
    room: { authorize: "everybody" },
    notices: { authorize: (access) => access === "subscribe" },
  });
  const client = createChatClient(createLocalCaller([createChatRouter({}, chat)]));
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  const left = new Error("the page is left");
  /** Shows notices, and is left while it shows the last of so many. */
  const load = async (most: number): Promise<string[]> => {
    const shown: string[] = [];
    const show = ({ text }: Message): void => {
      shown.push(text);
      if (shown.length === most) throw left;
    };
    await showNotices(client, storage, show).catch((error: unknown) => expect(error).toBe(left));
    return shown;
  };
  storage.setItem("notices", "0");
  for (const text of ["one", "two", "three"]) await chat.notices.publish({ message: { from: "server", text } });
  expect(await load(2)).toEqual(["one", "two"]);
  expect(await load(2)).toEqual(["two", "three"]);
});
