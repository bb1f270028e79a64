import { RpcError } from "@quicrpc/core";
import type { LoggedMessage, LogSubscription, TopicLog, TopicReceiver } from "./bus.js";
import type { TopicLimits } from "./limits.js";

/** Estimated memory of an entry in bytes, without its message. */
const ENTRY_BYTES = 320;
/** Estimated memory of a topic in bytes, without its name and entries. */
const TOPIC_BYTES = 256;

/** A message that a log has stored. */
export interface LogEntry {
  readonly topic: string;
  readonly bytes: Uint8Array;
  /** Identifies the message in its topic. Undefined if its publisher gave no id. */
  readonly id: string | undefined;
}

/** Stores the messages of a `MemoryLog` persistently, so that they survive a restart of the process. */
export interface Journal {
  /** Random text that distinguishes positions in this history from positions in another one. */
  readonly life: string;
  /** The stored messages with their numbers, the oldest first. */
  readonly entries: Iterable<readonly [number: number, entry: LogEntry]>;
  /** Highest message number that is in use. New messages get higher numbers. */
  readonly last: number;
  /**
   * Stores a message. Throws if that fails.
   *
   * @param kept all other messages that must be available after a restart, the oldest first; each call passes the same
   * map
   */
  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void;
  close(): void;
}

/** Log that stores the newest messages of each topic in the memory of one process, within limits. */
export class MemoryLog implements TopicLog {
  private readonly limits: TopicLimits;
  private readonly entries: OrderedNumbers<LogEntry> = new OrderedNumbers();
  /** Numbers of the stored messages, by topic. */
  private readonly numbers: Map<string, OrderedNumbers<true>> = new Map();
  /** Topics and ids of the stored messages. */
  private readonly ids: Set<string> = new Set();
  private readonly journal: Journal | undefined;
  private readonly receivers: Map<string, TopicReceiver> = new Map();
  /** Random text that distinguishes positions of this process from positions of an earlier process. */
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
      // The number is read before the consumer continues, so that a message that is removed meanwhile is reported as
      // missing.
      number = next();
      yield { bytes: entry.bytes, position: read };
    }
  }

  /**
   * Returns the number that a position contains. Throws `RpcError` if later messages of the topic may have been
   * removed.
   */
  private numberOf(topic: string, position: string): number {
    if (position === "0") return 0;
    const [instanceId, text] = position.split("-");
    const number = Number(text);
    if (instanceId !== this.instanceId || !Number.isSafeInteger(number) || !this.hasAllAfter(topic, number))
      throw expiredPosition();
    return number;
  }

  /**
   * Returns true if all messages of a topic after a number are still stored. Messages are removed in order: if one is
   * stored, so are all later messages of its topic. If none is stored, none may have been removed since that number.
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

  /** Removes a message, which must be the oldest one of its topic. */
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

function sizeOf({ bytes, id = "" }: LogEntry): number {
  return bytes.length + 2 * id.length + ENTRY_BYTES;
}

/** Returns a key for a topic and the id of a message. It is unique, because topic names contain no spaces. */
function idIn(topic: string, id: string): string {
  return `${topic} ${id}`;
}

/** Creates the error for a position whose following messages are no longer all stored. */
export function expiredPosition(): RpcError {
  return new RpcError("out_of_range", "messages after that position are no longer kept: start again", {
    reason: "CURSOR_EXPIRED",
  });
}

/**
 * A map with numbers as keys, in the order of insertion. Finding the first entry takes constant time, even if many
 * entries before it were deleted.
 */
export class OrderedNumbers<T> {
  readonly all: Map<number, T> = new Map();
  private first: number | undefined = undefined;
  /** Iterator that is positioned after the deleted entries. A new iterator would have to skip them each time. */
  private keys: Iterator<number> | undefined = undefined;

  /** First number in the map. Undefined if the map is empty. */
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
