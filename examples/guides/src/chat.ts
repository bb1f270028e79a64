// A stream whose items have cursors: see docs/durable.md.
import { EventEmitter, on } from "node:events";
import { rpcError } from "@quicrpc/core";
import { catchUp } from "@quicrpc/durable";
import { chatMethods, type ChatClient, type ChatMessagesItem, createChatRouter } from "./generated/chat.js";

/** Messages of a chat; only the latest are kept. */
export class ChatLog {
  private readonly kept: ChatMessagesItem[] = [];
  private readonly told = new EventEmitter();
  private last = 0;

  add(text: string): void {
    const message = { id: this.last + 1, before: this.last === 0 ? null : this.last, text };
    this.last = message.id;
    this.kept.push(message);
    if (this.kept.length > 1000) this.kept.shift();
    this.told.emit("message", message);
  }

  get oldest(): number {
    return this.kept[0]?.id ?? 1;
  }

  after(id: number): readonly ChatMessagesItem[] {
    return this.kept.filter((message) => message.id > id);
  }

  async *live(signal: AbortSignal): AsyncGenerator<ChatMessagesItem> {
    for await (const [message] of on(this.told, "message", { signal })) yield message as ChatMessagesItem;
  }
}

export const createChat = (log: ChatLog): ReturnType<typeof createChatRouter> =>
  createChatRouter({
    // #region handler
    messages(_, { resumeFrom, signal }) {
      const after = Number(resumeFrom ?? 0);
      if (after < log.oldest - 1) throw rpcError(chatMethods.messages, "CURSOR_EXPIRED");
      return catchUp(() => log.after(after), log.live(signal), { cursor: ({ id }) => id });
    },
    // #endregion handler
  });

// #region caller
/** Shows messages. The cursor is stored in `kept`, so that a reloaded page continues from there. */
export async function follow(
  chat: ChatClient,
  show: (message: ChatMessagesItem) => void,
  kept: Pick<Storage, "getItem" | "setItem">,
): Promise<void> {
  const from = kept.getItem("cursor");
  const stream = chat.messages(from === null ? {} : { from });
  for await (const message of stream) {
    show(message);
    kept.setItem("cursor", String(stream.cursor));
  }
}
// #endregion caller
