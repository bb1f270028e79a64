import { RpcError } from "@quicrpc/core";
import type { LoggedMessage, LogSubscription, TopicLog, TopicReceiver } from "./bus.js";
import type { TopicLimits } from "./limits.js";

/** Approximate memory of an entry in bytes, without its message. */
const ENTRY_BYTES = 320;
/** Approximate memory of a topic in bytes, without its name and entries. */
const TOPIC_BYTES = 256;

/** A message in a log. */
export interface LogEntry {
  readonly topic: string;
  readonly bytes: Uint8Array;
  /** Identifies the message in its topic, if its publisher gave an id. */
  readonly id: string | undefined;
}

/** Stores the messages of a `MemoryLog` so that they outlive the process. */
export interface Journal {
  /** Distinguishes positions of this history from positions of another. */
  readonly life: string;
  /** The stored messages by number, the oldest first. */
  readonly entries: Iterable<readonly [number: number, entry: LogEntry]>;
  /** The highest number given so far. New messages get higher ones. */
  readonly last: number;
  /**
   * Stores a message. Throws if it cannot.
   *
   * @param kept all other messages that must be found after a restart, the oldest first; always the same map
   */
  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void;
  close(): void;
}

/** Keeps the history of topics in the memory of one process: the newest messages of each topic, within limits. */
export class MemoryLog implements TopicLog {
  private readonly limits: TopicLimits;
  private readonly entries: OrderedNumbers<LogEntry> = new OrderedNumbers();
  /** Numbers of the messages of each topic. */
  private readonly numbers: Map<string, OrderedNumbers<true>> = new Map();
  /** Ids of the messages that are kept. */
  private readonly ids: Set<string> = new Set();
  private readonly journal: Journal | undefined;
  private readonly receivers: Map<string, TopicReceiver> = new Map();
  /** Distinguishes positions of this process from positions of an earlier one. */
  private readonly instanceId: string;
  private last = 0;
  private heldBytes = 0;

  constructor(limits: TopicLimits, journal?: Journal) {
    this.limits = limits;
    this.journal = journal;
    this.instanceId = journal?.life ?? Math.random().toString(36).slice(2, 10);
    for (const [number, entry] of journal?.entries ?? []) this.store(number, entry);
    this.last = journal?.last ?? 0;
  }

  append(topic: string, bytes: Uint8Array, id?: string): undefined {
    if (id !== undefined && this.ids.has(idIn(topic, id))) return;
    const number = this.last + 1;
    const entry = { topic, bytes, id };
    this.journal?.append(number, entry, this.entries.all);
    this.last = number;
    this.store(number, entry);
    this.receivers.get(topic)?.message(bytes, this.position(number));
  }

  close(): void {
    this.journal?.close();
  }

  follow(topic: string, receiver: TopicReceiver): LogSubscription {
    this.receivers.set(topic, receiver);
    const end = (): void => {
      if (this.receivers.get(topic) === receiver) this.receivers.delete(topic);
    };
    return { ready: Promise.resolve(this.position(this.last)), end };
  }

  async *after(topic: string, position: string): AsyncGenerator<LoggedMessage> {
    const after = this.numberOf(topic, position);
    // Later messages are delivered live.
    const { last } = this;
    const numbers = this.numbers.get(topic)?.all.keys();
    const next = (): number | undefined => numbers?.next().value;
    let number = next();
    while (number !== undefined && number <= after) number = next();
    while (number !== undefined && number <= last) {
      const entry = this.entries.all.get(number);
      if (entry === undefined) throw new RpcError("unavailable", "history of the topic was dropped while it was read");
      const read = this.position(number);
      // Read before the consumer continues, so that a message which is dropped meanwhile is reported as missing.
      number = next();
      yield { bytes: entry.bytes, position: read };
    }
  }

  /** Returns the number in a position, if all later messages of the topic are kept. Throws `RpcError` otherwise. */
  private numberOf(topic: string, position: string): number {
    if (position === "0") return 0;
    const [instanceId, text] = position.split("-");
    const number = Number(text);
    if (instanceId !== this.instanceId || !Number.isSafeInteger(number) || !this.hasAllAfter(topic, number))
      throw expiredPosition();
    return number;
  }

  /**
   * Messages are dropped in order: while one is kept, so are all later ones of its topic. Without any, none may have
   * been dropped since.
   */
  private hasAllAfter(topic: string, number: number): boolean {
    if (this.entries.all.get(number)?.topic === topic) return true;
    const { oldest = this.last + 1 } = this.entries;
    return oldest <= number + 1 && (this.numbers.get(topic)?.all.size ?? 0) < this.limits.maxHistoryMessages;
  }

  private store(number: number, entry: LogEntry): void {
    const { topic, id } = entry;
    let numbers = this.numbers.get(topic);
    if (numbers === undefined) {
      this.numbers.set(topic, (numbers = new OrderedNumbers()));
      this.heldBytes += TOPIC_BYTES + topic.length;
    }
    numbers.all.set(number, true);
    this.entries.all.set(number, entry);
    if (id !== undefined) this.ids.add(idIn(topic, id));
    this.heldBytes += sizeOf(entry);
    if (numbers.all.size > this.limits.maxHistoryMessages) this.drop(numbers.oldest);
    while (this.heldBytes > this.limits.maxHistoryBytes && this.entries.all.size > 0) this.drop(this.entries.oldest);
  }

  /** Removes a message, which must be the oldest of its topic. */
  private drop(number = 0): void {
    const entry = this.entries.all.get(number);
    if (entry === undefined) return;
    const { topic, id } = entry;
    this.entries.all.delete(number);
    if (id !== undefined) this.ids.delete(idIn(topic, id));
    this.heldBytes -= sizeOf(entry);
    const numbers = this.numbers.get(topic);
    numbers?.all.delete(number);
    if (numbers?.all.size !== 0) return;
    this.numbers.delete(topic);
    this.heldBytes -= TOPIC_BYTES + topic.length;
  }

  private position(number: number): string {
    return `${this.instanceId}-${number}`;
  }
}

/** Approximate memory of an entry in bytes. */
function sizeOf({ bytes, id = "" }: LogEntry): number {
  return bytes.length + 2 * id.length + ENTRY_BYTES;
}

/** Returns a key of topic and id. It is unique, because topic names contain no spaces. */
function idIn(topic: string, id: string): string {
  return `${topic} ${id}`;
}

/** Returns the error for a position that is older than the messages kept. */
export function expiredPosition(): RpcError {
  return new RpcError("out_of_range", "messages after that position are no longer kept: start again", {
    reason: "CURSOR_EXPIRED",
  });
}

/** A map of numbers in insertion order. Finding the first takes constant time, however many before it were deleted. */
export class OrderedNumbers<T> {
  /** Values by number. */
  readonly all: Map<number, T> = new Map();
  private first: number | undefined = undefined;
  /** An iterator that stays behind the deleted entries; a new one would skip over them each time. */
  private keys: Iterator<number> | undefined = undefined;

  /** The first number; undefined if the map is empty. */
  get oldest(): number | undefined {
    const { all } = this;
    if (all.size === 0) this.keys = undefined;
    while (all.size > 0 && (this.first === undefined || !all.has(this.first))) {
      this.keys ??= all.keys();
      this.first = this.keys.next().value;
    }
    return all.size === 0 ? undefined : this.first;
  }
}
