import { AbstractChat, type ChatState, type UIMessage } from "ai";
import { assistantTransport } from "./assistant-transport.js";
import type { AssistantClient } from "./generated/assistant.js";

/** Chat of a page for tests, as `useChat` of `@ai-sdk/react` makes it, without React. */
export class AssistantPage extends AbstractChat<UIMessage> {
  constructor(assistant: AssistantClient, messages: UIMessage[], id = "c1") {
    const state: ChatState<UIMessage> = {
      status: "ready",
      error: undefined,
      messages,
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
      snapshot: structuredClone,
    };
    super({ id, state, transport: assistantTransport(assistant) });
  }

  /** Texts of the messages. */
  get texts(): string[] {
    const text = ({ parts }: UIMessage): string =>
      parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    return this.messages.map(text);
  }
}
