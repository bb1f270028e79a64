/** Messages that the user sends on a call. They wait here until the call reads them. */
export class OutgoingMessages implements AsyncIterable<unknown> {
  /** True if the user sends no more messages. */
  closed = false;
  private readonly waiting: unknown[] = [];
  private wakeReader: () => void = () => {};

  /** Number of messages that the call has not read yet, because the peer applies backpressure. */
  get queuedCount(): number {
    return this.waiting.length;
  }

  push(message: unknown): void {
    if (this.closed) return;
    this.waiting.push(message);
    this.wakeReader();
  }

  close(): void {
    this.closed = true;
    this.wakeReader();
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown, undefined> {
    return {
      next: async () => {
        while (this.waiting.length === 0 && !this.closed) {
          await new Promise<void>((resolve) => {
            this.wakeReader = resolve;
          });
        }
        return this.waiting.length > 0
          ? { done: false, value: this.waiting.shift() }
          : { done: true, value: undefined };
      },
      return: async () => {
        this.closed = true;
        return { done: true, value: undefined };
      },
    };
  }
}
