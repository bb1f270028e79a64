// A client of the AI SDK whose answers continue after a lost session: see docs/durable.md.
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { AssistantClient } from "./generated/assistant.js";

// #region transport
/** Carries the messages of `useChat` and `Chat`. */
export function assistantTransport(assistant: AssistantClient): ChatTransport<UIMessage> {
  const answer = (chat: string, question?: string, signal?: AbortSignal): ReadableStream<UIMessageChunk> =>
    assistant.answer({ chat, question }, { signal, resumeForMs: Infinity }).pipeThrough(
      new TransformStream({
        transform: ({ part }, out) => out.enqueue(part as UIMessageChunk),
      }),
    );
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, messages, abortSignal }) {
      const question = crypto.randomUUID();
      await assistant.ask({ chat: chatId, question, messages }, { signal: abortSignal });
      return answer(chatId, question, abortSignal);
    },
    reconnectToStream: async ({ chatId, abortSignal }) => answer(chatId, undefined, abortSignal),
  };
}
// #endregion transport
