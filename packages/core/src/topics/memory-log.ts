import { RpcError } from "../errors.js";
import type { LoggedMessage, LogSubscription, TopicLog, TopicReceiver } from "./bus.js";
import type { TopicLimits } from "./limits.js";

/** What an entry takes beside its bytes, about. */
const ENTRY_BYTES = 256;

interface Entry {
  readonly topic: string;
  readonly bytes: Uint8Array;
}

/** The history of topics in the memory of one process: the newest messages of each, within limits. */
export class MemoryLog implements TopicLog {
  private readonly limits: TopicLimits;
  /** By number, the oldest first. */
  private readonly entries: Map<number, Entry> = new Map();
  private readonly numbers: Map<string, Set<number>> = new Map();
  private readonly receivers: Map<string, TopicReceiver> = new Map();
  /** Tells the positions of this process's life from those of another. */
  private readonly life: string = Math.random().toString(36).slice(2, 10);
  private last = 0;
  private heldBytes = 0;

  constructor(limits: TopicLimits) {
    this.limits = limits;
  }

  append(topic: string, bytes: Uint8Array): undefined {
    const number = ++this.last;
    let numbers = this.numbers.get(topic);
    if (numbers === undefined) this.numbers.set(topic, (numbers = new Set()));
    numbers.add(number);
    this.entries.set(number, { topic, bytes });
    this.heldBytes += bytes.length + ENTRY_BYTES;
    if (numbers.size > this.limits.maxHistoryMessages) this.drop(topic);
    while (this.heldBytes > this.limits.maxHistoryBytes) {
      const oldest = this.entries.values().next().value;
      if (oldest === undefined) break;
      this.drop(oldest.topic);
    }
    this.receivers.get(topic)?.message(bytes, this.position(number));
  }

  follow(topic: string, receiver: TopicReceiver): LogSubscription {
    this.receivers.set(topic, receiver);
    const end = (): void => {
      if (this.receivers.get(topic) === receiver) this.receivers.delete(topic);
    };
    return { ready: Promise.resolve(this.position(this.last)), end };
  }

  async *after(topic: string, position: string): AsyncGenerator<LoggedMessage> {
    for (const number of this.numbersAfter(topic, position)) {
      const entry = this.entries.get(number);
      if (entry === undefined) throw new RpcError("unavailable", "the history of the topic went on while it was read");
      yield { bytes: entry.bytes, position: this.position(number) };
    }
  }

  private numbersAfter(topic: string, position: string): number[] {
    const kept = [...(this.numbers.get(topic) ?? [])];
    if (position === "0") return kept;
    const [life, text] = position.split("-");
    const number = Number(text);
    if (life !== this.life || !Number.isSafeInteger(number) || !this.hasAllAfter(topic, number))
      throw expiredPosition();
    return kept.filter((each) => each > number);
  }

  /** As long as a message is there, so are later ones of its topic; otherwise none may have been dropped since. */
  private hasAllAfter(topic: string, number: number): boolean {
    if (this.entries.get(number)?.topic === topic) return true;
    const [oldest = this.last + 1] = this.entries.keys();
    return oldest <= number + 1 && (this.numbers.get(topic)?.size ?? 0) < this.limits.maxHistoryMessages;
  }

  private drop(topic: string): void {
    const numbers = this.numbers.get(topic);
    const [number] = numbers ?? [];
    if (number !== undefined) numbers?.delete(number);
    if (numbers?.size === 0) this.numbers.delete(topic);
    const entry = number === undefined ? undefined : this.entries.get(number);
    if (number === undefined || entry === undefined) return;
    this.entries.delete(number);
    this.heldBytes -= entry.bytes.length + ENTRY_BYTES;
  }

  private position(number: number): string {
    return `${this.life}-${number}`;
  }
}

/** Makes the error of a caller whose position is older than what is kept. */
export function expiredPosition(): RpcError {
  return new RpcError("out_of_range", "messages after that position are no longer kept: begin anew", {
    reason: "CURSOR_EXPIRED",
  });
}
