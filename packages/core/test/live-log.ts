/** A log of numbers from 1 on, which readers follow as it grows. */
export class LiveLog {
  /** Readers that have not been left. */
  readers = 0;
  length = 0;
  private readonly wakes: Set<() => void> = new Set();

  append(count: number): void {
    this.length += count;
    for (const wake of this.wakes) wake();
  }

  /** Gives what follows a number, until the signal says that nobody listens. */
  async *read(after: number, signal: AbortSignal): AsyncGenerator<number> {
    this.readers++;
    const wake = { now: () => {} };
    const onWake = (): void => wake.now();
    this.wakes.add(onWake);
    signal.addEventListener("abort", onWake);
    try {
      for (let id = after + 1; !signal.aborted; id++) {
        while (id > this.length && !signal.aborted) await new Promise<void>((resolve) => (wake.now = resolve));
        if (!signal.aborted) yield id;
      }
    } finally {
      this.wakes.delete(onWake);
      this.readers--;
    }
  }
}
