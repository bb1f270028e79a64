import { RpcError } from "../errors.js";
import type { LoggedMessage, LogSubscription, TopicLog, TopicReceiver } from "./bus.js";
import type { TopicLimits } from "./limits.js";
import { OrderedNumbers } from "./ordered-numbers.js";

/** Bytes that an entry takes beside its message's, about. */
const ENTRY_BYTES = 320;
/** Bytes that a topic takes beside its name and its entries, about. */
const TOPIC_BYTES = 256;

/** A message as a log keeps it. */
export interface LogEntry {
  readonly topic: string;
  readonly bytes: Uint8Array;
  /** Names the message in its topic, where its publisher said how. */
  readonly id: string | undefined;
}

/** Keeps the messages of a `MemoryLog` beyond its process. */
export interface Journal {
  /** Tells the positions of this history from those of another. */
  readonly life: string;
  /** Messages that it has, the oldest first, by their numbers. */
  readonly entries: Iterable<readonly [number: number, entry: LogEntry]>;
  /** The number after which new messages are numbered. */
  readonly last: number;
  /** Notes a message. Throws where it cannot. `kept` are all that are to be found the next time, without it, the oldest first; always the same map. */
  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void;
  close(): void;
}

/** The history of topics in the memory of one process: the newest messages of each, within limits. */
export class MemoryLog implements TopicLog {
  private readonly limits: TopicLimits;
  private readonly entries: OrderedNumbers<LogEntry> = new OrderedNumbers();
  /** Those of each topic. */
  private readonly numbers: Map<string, OrderedNumbers<true>> = new Map();
  /** The ids of the messages that are kept. */
  private readonly ids: Set<string> = new Set();
  private readonly journal: Journal | undefined;
  private readonly receivers: Map<string, TopicReceiver> = new Map();
  /** Tells the positions of this process's life from those of another. */
  private readonly life: string;
  private last = 0;
  private heldBytes = 0;

  constructor(limits: TopicLimits, journal?: Journal) {
    this.limits = limits;
    this.journal = journal;
    this.life = journal?.life ?? Math.random().toString(36).slice(2, 10);
    for (const [number, entry] of journal?.entries ?? []) this.keep(number, entry);
    this.last = journal?.last ?? 0;
  }

  append(topic: string, bytes: Uint8Array, id?: string): undefined {
    if (id !== undefined && this.ids.has(idIn(topic, id))) return;
    const number = this.last + 1;
    const entry = { topic, bytes, id };
    this.journal?.append(number, entry, this.entries.all);
    this.last = number;
    this.keep(number, entry);
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
    // Later messages come live.
    const { last } = this;
    const numbers = this.numbers.get(topic)?.all.keys();
    const next = (): number | undefined => numbers?.next().value;
    let number = next();
    while (number !== undefined && number <= after) number = next();
    while (number !== undefined && number <= last) {
      const entry = this.entries.all.get(number);
      if (entry === undefined) throw new RpcError("unavailable", "the history of the topic went on while it was read");
      const read = this.position(number);
      // Found before the reader continues, so that it is missed if it is dropped meanwhile.
      number = next();
      yield { bytes: entry.bytes, position: read };
    }
  }

  /** Returns the number of a position of a topic, after which all messages are kept. Throws `RpcError` for another. */
  private numberOf(topic: string, position: string): number {
    if (position === "0") return 0;
    const [life, text] = position.split("-");
    const number = Number(text);
    if (life !== this.life || !Number.isSafeInteger(number) || !this.hasAllAfter(topic, number))
      throw expiredPosition();
    return number;
  }

  /** As long as a message is there, so are later ones of its topic; otherwise none may have been dropped since. */
  private hasAllAfter(topic: string, number: number): boolean {
    if (this.entries.all.get(number)?.topic === topic) return true;
    const { oldest = this.last + 1 } = this.entries;
    return oldest <= number + 1 && (this.numbers.get(topic)?.all.size ?? 0) < this.limits.maxHistoryMessages;
  }

  private keep(number: number, entry: LogEntry): void {
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

  /** Forgets a message, the oldest of its topic. */
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
    return `${this.life}-${number}`;
  }
}

/** Bytes that an entry takes, about. */
function sizeOf({ bytes, id = "" }: LogEntry): number {
  return bytes.length + 2 * id.length + ENTRY_BYTES;
}

/** Names of topics have no spaces. */
function idIn(topic: string, id: string): string {
  return `${topic} ${id}`;
}

/** Makes the error of a caller whose position is older than what is kept. */
export function expiredPosition(): RpcError {
  return new RpcError("out_of_range", "messages after that position are no longer kept: begin anew", {
    reason: "CURSOR_EXPIRED",
  });
}
