/** One message of a call, as it arrived, or was sent. */
export interface LoggedItem {
  readonly number: number;
  readonly isSent: boolean;
  /** Milliseconds after the call began. */
  readonly atMs: number;
  readonly value: unknown;
}

/** Items, and bytes of them by a rough estimate, that are kept. */
const MAX_ITEMS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** The last messages of a call, both ways. Older ones are forgotten; their number is not. */
export class ItemLog {
  count = 0;
  received = 0;
  /** Items before this index are forgotten; cut off now and then, since that moves all others. */
  private first = 0;
  private items: LoggedItem[] = [];
  private bytes = 0;

  get length(): number {
    return this.items.length - this.first;
  }

  get forgotten(): number {
    return this.count - this.length;
  }

  at(index: number): LoggedItem | undefined {
    return this.items[this.first + index];
  }

  push(value: unknown, atMs: number, isSent: boolean = false): void {
    this.items.push({ number: ++this.count, isSent, atMs, value });
    if (!isSent) this.received++;
    this.bytes += roughSize(value);
    while (this.length > MAX_ITEMS || (this.bytes > MAX_BYTES && this.length > 1)) {
      this.bytes -= roughSize(this.items[this.first]?.value);
      this.items[this.first++] = undefined as never;
    }
    if (this.first > MAX_ITEMS) {
      this.items = this.items.slice(this.first);
      this.first = 0;
    }
  }
}

/** Bytes that a value takes, about: what is nested deep counts little. */
function roughSize(value: unknown, depth = 0): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (value instanceof Uint8Array) return value.length + 64;
  if (typeof value !== "object" || value === null) return 16;
  if (depth > 3) return 256;
  let size = 64;
  for (const each of Object.values(value).slice(0, 100)) size += roughSize(each, depth + 1);
  return size;
}
