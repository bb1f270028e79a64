import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { MockLanguageModelV3 } from "ai/test";
import type { UIMessage } from "ai";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { AssistantPage } from "./assistant-page.js";
import { answersIn } from "./assistant.js";
import {
  type AssistantAnswerItem,
  type AssistantClient,
  createAssistantClient,
  createAssistantRouter,
} from "./generated/assistant.js";

type DoStream = MockLanguageModelV3["doStream"];
type ModelPart = Awaited<ReturnType<DoStream>>["stream"] extends ReadableStream<infer Part> ? Part : never;

/** A request to the model, which the test answers. */
interface Request {
  readonly out: ReadableStreamDefaultController<ModelPart>;
  readonly signal: AbortSignal | undefined;
}

const noTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens: noTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
const FINISH: ModelPart = { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage };
const MESSAGES = [{ id: "m", role: "user", parts: [{ type: "text", text: "What comes?" }] }];

let folder: string;
let requests: Request[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quicrpc-assistant-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  requests = [];
});

/** Starts a server. Returns a client of it for each user. */
function serveAssistant(): (user: string) => AssistantClient {
  const model = new MockLanguageModelV3({
    doStream: async ({ abortSignal: signal }) => ({
      stream: new ReadableStream({ start: (out) => void requests.push({ out, signal }) }),
    }),
  });
  const routers = [createAssistantRouter<string>(answersIn(folder, model))];
  return (user) => {
    const [near, far] = createMemoryPair();
    createSession(far, { routers, connection: user });
    return createAssistantClient(createSession(near));
  };
}

/** Writes words of the answer to request number `index`, and maybe the end. */
async function write(index: number, words: string[], isEnd: boolean): Promise<void> {
  await expect.poll(() => requests.length).toBeGreaterThan(index);
  const { out } = requests[index] as Request;
  if (words[0] === "a") out.enqueue({ type: "text-start", id: "0" });
  for (const word of words) out.enqueue({ type: "text-delta", id: "0", delta: word });
  if (!isEnd) return;
  out.enqueue({ type: "text-end", id: "0" });
  out.enqueue(FINISH);
  out.close();
}

function textOf(items: readonly AssistantAnswerItem[]): string {
  return items.map(({ part }) => (part as { readonly delta?: string }).delta ?? "").join("");
}

async function answerOf(client: AssistantClient, from?: string): Promise<AssistantAnswerItem[]> {
  const items: AssistantAnswerItem[] = [];
  for await (const item of client.answer({ chat: "c1" }, from === undefined ? {} : { from })) items.push(item);
  return items;
}

it("ends an answer when there is a later question", async () => {
  const client = serveAssistant()("ann");
  const page = new AssistantPage(client, []);
  const first = page.sendMessage({ text: "first" });
  await write(0, ["a", "b"], false);
  await expect.poll(() => page.texts[1]).toBe("ab");
  const other = new AssistantPage(client, MESSAGES as UIMessage[]);
  const second = other.sendMessage({ text: "second" });
  await first;
  expect(page.error?.message).toBe("there is a later question");
  expect(requests[0]?.signal?.aborted).toBe(true);
  await write(1, ["a", "c"], true);
  await second;
  expect(other.texts.at(-1)).toBe("ac");
  // The file has only the later answer.
  expect(textOf(await answerOf(serveAssistant()("ann")))).toBe("ac");
});

it("asks the model again for a new answer to the same messages, but not for a repeated call", async () => {
  const client = serveAssistant()("ann");
  const page = new AssistantPage(client, [], crypto.randomUUID());
  const sent = page.sendMessage({ text: "first" });
  await write(0, ["a"], true);
  await sent;
  const again = page.regenerate();
  await write(1, ["a", "b"], true);
  await again;
  expect(page.texts).toEqual(["first", "ab"]);
  for (const _ of [1, 2]) await client.ask({ chat: "c1", question: "q1", messages: MESSAGES });
  await write(2, ["a"], true);
  await answerOf(client);
  expect(requests).toHaveLength(3);
});

it("does not continue an answer with another one", async () => {
  const client = serveAssistant()("ann");
  await client.ask({ chat: "c1", question: "q1", messages: MESSAGES });
  await write(0, ["a"], true);
  const { position } = (await answerOf(client))[2] as AssistantAnswerItem;
  await client.ask({ chat: "c1", question: "q2", messages: MESSAGES });
  await write(1, ["a", "b"], true);
  const expired = { code: "out_of_range", reason: "CURSOR_EXPIRED" };
  await expect(answerOf(client, position)).rejects.toMatchObject(expired);
  await expect(answerOf(client, "q2.x")).rejects.toMatchObject(expired);
  await expect(answerOf(client, "q2.99")).rejects.toMatchObject(expired);
  expect(textOf(await answerOf(client, "q2.2"))).toBe("ab");
  rmSync(join(folder, "ann,c1.jsonl"));
  await expect(answerOf(serveAssistant()("ann"), "q2.2")).rejects.toMatchObject(expired);
});

it("shows a chat to its user only", async () => {
  const clientOf = serveAssistant();
  await clientOf("ann").ask({ chat: "c1", question: "q1", messages: MESSAGES });
  await write(0, ["a"], true);
  expect(await clientOf("ann").history({ chat: "c1" })).toEqual(MESSAGES);
  expect(await clientOf("../ann").history({ chat: "c1" })).toEqual([]);
  expect(await answerOf(clientOf("ben"))).toEqual([]);
  expect(textOf(await answerOf(clientOf("ann")))).toBe("a");
});

it.each([
  ["text-end", [], "ready"],
  ["reasoning", [{ type: "reasoning-start", id: "r" }], "error"],
])("continues nothing after %s", async (_, more, status) => {
  const text = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "a" },
    { type: "text-end", id: "0" },
  ];
  const lines = [{ question: "q1", messages: MESSAGES }, { type: "start" }, { type: "start-step" }, ...text, ...more];
  writeFileSync(join(folder, "ann,c1.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const logged = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => logged.mockRestore());
  const page = new AssistantPage(serveAssistant()("ann"), MESSAGES as UIMessage[]);
  await page.resumeStream();
  expect(page.texts.at(-1)).toBe("a");
  expect(page.status).toBe(status);
  expect(requests).toEqual([]);
});

it("ends an answer that cannot be stored, and continues it later", async () => {
  const client = serveAssistant()("ann");
  const logged = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => logged.mockRestore());
  const page = new AssistantPage(client, []);
  const sent = page.sendMessage({ text: "first" });
  await write(0, ["a"], false);
  await expect.poll(() => page.texts[1]).toBe("a");
  const moved = `${folder}-moved`;
  renameSync(folder, moved);
  await write(0, ["b"], false);
  await sent;
  expect(page.error?.message).toBe("the answer failed");
  renameSync(moved, folder);
  const resumed = answerOf(client);
  await expect.poll(() => requests.length).toBe(2);
  requests[1]?.out.enqueue({ type: "text-start", id: "1" });
  requests[1]?.out.enqueue({ type: "text-delta", id: "1", delta: "b" });
  requests[1]?.out.enqueue({ type: "text-end", id: "1" });
  requests[1]?.out.enqueue(FINISH);
  requests[1]?.out.close();
  expect(textOf(await resumed)).toBe("ab");
  expect(readdirSync(folder)).toEqual(["ann,c1.jsonl"]);
});
