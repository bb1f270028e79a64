import { RpcError } from "@quicrpc/core";
import { LIMITS } from "./limits.js";

/** Those who are told of what happens, each at their own pace. */
export class Audience<Event> {
  private readonly mailboxes: Set<Mailbox<Event>> = new Set();

  /** What happens from now on, until the signal fires. */
  listen(signal: AbortSignal): Mailbox<Event> {
    const mailbox = new Mailbox<Event>(() => this.mailboxes.delete(mailbox));
    this.mailboxes.add(mailbox);
    const onAbort = (): void => mailbox.end();
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    return mailbox;
  }

  tell(event: Event, except?: Mailbox<Event>): void {
    for (const mailbox of this.mailboxes) if (mailbox !== except) mailbox.push(event);
  }
}

/** What one participant has still to be sent. One who is too slow loses the stream rather than filling the memory, and opens it again. */
export class Mailbox<Event> implements AsyncIterable<Event> {
  private events: Event[] = [];
  private ending: { readonly error: unknown } | undefined;
  private wake: () => void = () => {};
  private readonly onEnd: () => void;

  constructor(onEnd: () => void) {
    this.onEnd = onEnd;
  }

  push(event: Event): void {
    if (this.ending !== undefined) return;
    if (this.events.length < LIMITS.unread) {
      this.events.push(event);
      this.wake();
      return;
    }
    this.events = [];
    this.end(new RpcError("resource_exhausted", `${LIMITS.unread} events were not read: open the stream again`));
  }

  end(error?: unknown): void {
    if (this.ending !== undefined) return;
    this.ending = { error };
    this.onEnd();
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    try {
      for (;;) {
        const { events } = this;
        this.events = [];
        yield* events;
        if (this.events.length > 0) continue;
        if (this.ending?.error !== undefined) throw this.ending.error;
        if (this.ending !== undefined) return;
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      this.end();
    }
  }
}
