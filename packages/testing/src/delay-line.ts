/** Runs callbacks at given times and in the order of these times, with a single timer. */
export class DelayLine {
  /** Total size in bytes of the packets whose callbacks are pending. */
  bytes = 0;
  private readonly waiting: { readonly at: number; readonly size: number; readonly arrive: () => void }[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;

  get length(): number {
    return this.waiting.length;
  }

  /** Calls `arrive` at the time `at`. Calls it at once if that time has passed and no earlier callback is pending. */
  add(at: number, size: number, arrive: () => void): void {
    const { waiting } = this;
    if (waiting.length === 0 && at <= performance.now()) return arrive();
    let index = waiting.length;
    while (index > 0 && (waiting[index - 1]?.at ?? 0) > at) index--;
    waiting.splice(index, 0, { at, size, arrive });
    this.bytes += size;
    if (index === 0) this.arm();
  }

  clear(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
    this.bytes = 0;
  }

  private arm(): void {
    clearTimeout(this.timer);
    const [first] = this.waiting;
    if (first !== undefined) this.timer = setTimeout(() => this.run(), Math.max(0, first.at - performance.now()));
  }

  private run(): void {
    const now = performance.now();
    // Node's timers are up to a millisecond early.
    const due = this.waiting.findIndex(({ at }) => at > now + 1);
    for (const { size, arrive } of this.waiting.splice(0, due === -1 ? this.waiting.length : due)) {
      this.bytes -= size;
      arrive();
    }
    this.arm();
  }
}
