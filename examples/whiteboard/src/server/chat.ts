import type { ChatMessage, Person, SharedFile } from "../generated/whiteboard.js";
import { Audience } from "./audience.js";
import { LIMITS } from "./limits.js";

/** What was said lately, and who listens. */
export class Chat {
  private messages: ChatMessage[] = [];
  private count = 0;
  private readonly audience: Audience<ChatMessage> = new Audience();

  say(from: Person, text: string, file?: SharedFile): ChatMessage {
    const message = { id: ++this.count, at: new Date(), from, text, file };
    this.messages = [...this.messages, message].slice(-LIMITS.messages);
    this.audience.tell(message);
    return message;
  }

  /** Every message with a larger id, until the signal fires. */
  async *since(after: number, signal: AbortSignal): AsyncGenerator<ChatMessage> {
    const news = this.audience.listen(signal);
    yield* this.messages.filter(({ id }) => id > after);
    yield* news;
  }
}
