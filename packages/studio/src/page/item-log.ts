export interface LoggedItem {
  readonly number: number;
  readonly isSent: boolean;
  /** Milliseconds between the start of the call and the message. */
  readonly atMs: number;
  readonly value: unknown;
}

/** Maximum number of messages that are stored. `MAX_BYTES` is their maximum estimated total size in bytes. */
const MAX_ITEMS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** The latest messages of a call, in both directions. Older messages are removed, but still counted. */
export class ItemLog {
  count = 0;
  received = 0;
  /**
   * Index of the oldest stored message in the array. Removed messages are only deleted from the array occasionally,
   * because that moves all others.
   */
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

/** Returns the estimated size of a value in bytes. Deeply nested values count little. */
function roughSize(value: unknown, depth = 0): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (value instanceof Uint8Array) return value.length + 64;
  if (typeof value !== "object" || value === null) return 16;
  if (depth > 3) return 256;
  let size = 64;
  for (const member of Object.values(value).slice(0, 100)) size += roughSize(member, depth + 1);
  return size;
}
