// A server of a language model, whose answers survive the process: see docs/durable.md.
import { EventEmitter, once } from "node:events";
import { appendFileSync, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CallContext, rpcError } from "@quicrpc/core";
import { convertToModelMessages, type LanguageModel, streamText, type UIMessageChunk, validateUIMessages } from "ai";
import { assistantMethods, type AssistantHandlers } from "./generated/assistant.js";

/** First line of a chat's file. */
interface Question {
  readonly question: string;
  readonly messages: readonly unknown[];
}

/** A chat in a file: a line with the latest question, then one for each part of its answer. */
class Chat extends EventEmitter {
  readonly question: string;
  readonly messages: readonly unknown[];
  readonly parts: UIMessageChunk[];
  /** Ends the request to the model. */
  readonly stop: AbortController = new AbortController();
  readonly #path: string;

  constructor(path: string) {
    super();
    this.setMaxListeners(0);
    this.#path = path;
    const text = readFileSync(path, "utf8");
    const complete = text.slice(0, text.lastIndexOf("\n") + 1);
    // The last line is not complete if the process was killed while it wrote the line.
    if (complete !== text) truncateSync(path, Buffer.byteLength(complete));
    const [first, ...parts] = complete.trimEnd().split("\n");
    const { question, messages } = JSON.parse(first ?? "") as Question;
    this.question = question;
    this.messages = messages;
    this.parts = parts.map((part) => JSON.parse(part) as UIMessageChunk);
  }

  get isOver(): boolean {
    const type = this.parts.at(-1)?.type;
    return type === "finish" || type === "error";
  }

  add(part: UIMessageChunk): void {
    if (this.isOver) return;
    appendFileSync(this.#path, `${JSON.stringify(part)}\n`);
    this.parts.push(part);
    this.emit("part");
  }

  /** Ends the answer for its readers, unless it is over. The file does not change, so a later reader makes it continue. */
  fail(errorText: string): void {
    if (this.isOver) return;
    this.parts.push({ type: "error", errorText });
    this.emit("part");
    this.stop.abort();
  }
}

/** Parts of an answer that can continue: the beginning of one text. */
const TEXT = new Set<string>(["start", "start-step", "text-start", "text-delta"]);

/** Makes the answer, or the rest of it: the model gets the text that it has already written. */
async function write(chat: Chat, model: LanguageModel): Promise<void> {
  const { messages, parts } = chat;
  const last = parts.at(-1)?.type;
  if (last === "text-end" || last === "finish-step") return chat.add({ type: "finish" });
  if (!parts.every(({ type }) => TEXT.has(type))) throw new Error("only a text can be continued");
  const id = parts.find((part) => part.type === "text-start")?.id;
  const text = parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
  const prompt = await convertToModelMessages(await validateUIMessages({ messages }));
  if (text !== "") prompt.push({ role: "assistant", content: text });
  const present = new Set<string>(parts.map(({ type }) => type));
  present.delete("text-delta");
  let newId: string | undefined;
  const answer = streamText({ model, messages: prompt, abortSignal: chat.stop.signal });
  for await (const part of answer.toUIMessageStream()) {
    // The file already has these parts. The rest of its text comes with another id.
    if (present.delete(part.type)) newId = "id" in part ? part.id : newId;
    else chat.add(id !== undefined && "id" in part && part.id === newId ? { ...part, id } : part);
  }
}

/** Answers by a model, with chats in a folder. `context.connection` is the user's id: a chat belongs to its user. */
export function answersIn(folder: string, model: LanguageModel): AssistantHandlers<string> {
  /** Chats whose answers are being made, by their files. */
  const running = new Map<string, Chat>();
  const pathOf = (chat: string, { connection: user }: CallContext<string>): string =>
    join(folder, `${encodeURIComponent(user)},${chat}.jsonl`);
  const find = (path: string): Chat | undefined => running.get(path) ?? (existsSync(path) ? new Chat(path) : undefined);
  async function run(path: string, chat: Chat): Promise<void> {
    running.set(path, chat);
    await write(chat, model).catch(console.error);
    chat.fail("the answer failed");
    if (running.get(path) === chat) running.delete(path);
  }
  return {
    ask({ chat, question, messages }, context) {
      const path = pathOf(chat, context);
      if (find(path)?.question === question) return; // a repeated call
      writeFileSync(`${path}.new`, `${JSON.stringify({ question, messages })}\n`);
      running.get(path)?.fail("there is a later question");
      renameSync(`${path}.new`, path);
      void run(path, new Chat(path));
    },
    history: ({ chat }, context) => [...(find(pathOf(chat, context))?.messages ?? [])],
    async *answer({ chat: name, question }, context) {
      const path = pathOf(name, context);
      const chat = find(path);
      const [asked = question, last = "-1"] = context.resumeFrom?.split(".") ?? [];
      if (chat === undefined && asked === undefined) return;
      const first = Number(last) + 1;
      // There is a later question, or the file was lost.
      if (chat === undefined || (asked ?? chat.question) !== chat.question || !(first <= chat.parts.length))
        throw rpcError(assistantMethods.answer, "CURSOR_EXPIRED");
      if (!chat.isOver && running.get(path) !== chat) void run(path, chat); // the process was killed
      for (let at = first; ; at++) {
        while (at >= chat.parts.length && !chat.isOver) await once(chat, "part", { signal: context.signal });
        if (at >= chat.parts.length) return;
        yield { position: `${chat.question}.${at}`, part: chat.parts[at] };
      }
    },
  };
}
