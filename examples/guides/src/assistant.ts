// A server of a language model, whose answers survive the process: see docs/durable.md.
import { EventEmitter, once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { rpcError } from "@quicrpc/core";
import { convertToModelMessages, type LanguageModel, streamText, type UIMessageChunk, validateUIMessages } from "ai";
import { assistantMethods, type AssistantHandlers } from "./generated/assistant.js";

/** A chat in a file: a line with the messages before the latest answer, then one for each part of that answer. */
class Chat extends EventEmitter {
  readonly messages: readonly unknown[];
  readonly parts: UIMessageChunk[];
  readonly #path: string;

  constructor(path: string) {
    super();
    this.setMaxListeners(0);
    this.#path = path;
    // The last line is not complete if the process was killed while it wrote the line.
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
    const [messages, ...parts] = lines.map((line) => JSON.parse(line) as unknown);
    this.messages = messages as readonly unknown[];
    this.parts = parts as UIMessageChunk[];
  }

  get isOver(): boolean {
    return this.parts.some(({ type }) => type === "finish" || type === "error");
  }

  add(part: UIMessageChunk): void {
    appendFileSync(this.#path, `${JSON.stringify(part)}\n`);
    this.parts.push(part);
    this.emit("part");
  }
}

/** Parts with which an answer begins. */
const BEGINNING = new Set<string>(["start", "start-step", "text-start"]);

/** Makes the answer, or the rest of it: the model gets the text that it has already written. */
async function write(chat: Chat, model: LanguageModel): Promise<void> {
  const { messages, parts } = chat;
  const present = new Set<string>(parts.map(({ type }) => type));
  const id = parts.find((part) => part.type === "text-start")?.id;
  const text = parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
  const prompt = await convertToModelMessages(await validateUIMessages({ messages }));
  if (text !== "") prompt.push({ role: "assistant", content: text });
  for await (const part of streamText({ model, messages: prompt }).toUIMessageStream()) {
    if (BEGINNING.has(part.type) && present.has(part.type)) continue;
    chat.add(id !== undefined && "id" in part ? { ...part, id } : part);
  }
}

/** Answers by a model, with chats in a folder. Continues the answers that were not over when the process ended. */
export function answersIn(folder: string, model: LanguageModel): AssistantHandlers {
  const chats = new Map<string, Chat>();
  const pathOf = (name: string): string => join(folder, `${name}.jsonl`);
  const open = (name: string): void => {
    const chat = new Chat(pathOf(name));
    chats.set(name, chat);
    if (chat.isOver) return;
    write(chat, model).catch(() => chat.add({ type: "error", errorText: "the answer failed" }));
  };
  for (const file of readdirSync(folder)) open(basename(file, ".jsonl"));
  return {
    ask({ chat, messages }) {
      if (isDeepStrictEqual(chats.get(chat)?.messages, messages)) return; // a repeated call
      writeFileSync(pathOf(chat), `${JSON.stringify(messages)}\n`);
      open(chat);
    },
    history: ({ chat }) => [...(chats.get(chat)?.messages ?? [])],
    async *answer({ chat: name }, { resumeFrom, signal }) {
      const chat = chats.get(name);
      if (chat === undefined) return;
      const turn = String(chat.messages.length);
      const [from = turn, last = "-1"] = resumeFrom?.split(".") ?? [];
      if (from !== turn) throw rpcError(assistantMethods.answer, "CURSOR_EXPIRED"); // there is a later question
      for (let at = Number(last) + 1; ; at++) {
        while (at >= chat.parts.length && !chat.isOver) await once(chat, "part", { signal });
        if (at >= chat.parts.length) return;
        yield { position: `${turn}.${at}`, part: chat.parts[at] };
      }
    },
  };
}
