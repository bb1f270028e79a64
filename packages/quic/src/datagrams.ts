import type { Engine } from "./engine.js";
import { DATAGRAM_HIGH_WATER_MARK } from "./limits.js";
import { DATAGRAM_BLOCKED, DATAGRAM_SENT } from "./native-layout.js";

/** Counters of a session's W3C datagram streams (W3C WebTransport §6.11). */
export interface DatagramStats {
  /** Number of received datagrams that were dropped because too many were unread. */
  readonly droppedIncoming: number;
  /** Number of received datagrams that were dropped because they were older than `incomingMaxAge`. */
  readonly expiredIncoming: number;
  /** Number of datagrams that were not sent because they were older than `outgoingMaxAge`. */
  readonly expiredOutgoing: number;
}

interface WaitingDatagram {
  readonly bytes: Uint8Array;
  /** Time of arrival (`performance.now()`). */
  readonly at: number;
  /** Resolves the write that waits until this datagram has been sent. */
  readonly release?: () => void;
}

/**
 * Sends and receives the datagrams of a session (RFC 9221). Each datagram arrives completely and at most once, in any
 * order. `send` and a session handler's `onDatagram` are this package's interface; the other members follow W3C
 * WebTransport §5.
 */
export class Datagrams {
  #engine: Engine | undefined;
  #handle = 0;
  #incoming: WaitingDatagram[] = [];
  #outgoing: WaitingDatagram[] = [];
  #incomingMark = DATAGRAM_HIGH_WATER_MARK;
  #outgoingMark = DATAGRAM_HIGH_WATER_MARK;
  #incomingMaxAge = Number.POSITIVE_INFINITY;
  #outgoingMaxAge = Number.POSITIVE_INFINITY;
  #reader: ReadableStreamDefaultController<Uint8Array> | undefined;
  #pullResolve: (() => void) | undefined;
  #readable: ReadableStream<Uint8Array> | undefined;
  readonly #writers = new Set<WritableStreamDefaultController>();
  #writable: WritableStream<Uint8Array> | undefined;
  #ended: { error: Error | undefined } | undefined;
  #dropped = 0;
  #expiredIn = 0;
  #expiredOut = 0;

  /** @internal Called when the session is established. Sends the datagrams that were written before. */
  bind(engine: Engine, handle: number): void {
    this.#engine = engine;
    this.#handle = handle;
    this.receiveDrain();
  }

  /**
   * Maximum size in bytes of a datagram that can be sent now. Depends on the path's MTU. It is 0 if the peer accepts no
   * datagrams.
   */
  get maxSize(): number {
    return this.#ended === undefined ? (this.#engine?.native.maxDatagramSize(this.#handle) ?? 0) : 0;
  }

  /** Maximum size in bytes of a datagram that can be sent now; the W3C name of `maxSize`. */
  get maxDatagramSize(): number {
    return this.maxSize;
  }

  /**
   * Sends a datagram with a copy of `bytes`. Returns false if the datagram was dropped: too large, no room, or the
   * session has ended.
   */
  send(bytes: Uint8Array): boolean {
    const engine = this.#engine;
    if (engine === undefined || this.#ended !== undefined || this.#outgoing.length > 0) return false;
    engine.kick();
    return engine.native.sendDatagram(this.#handle, bytes) === DATAGRAM_SENT;
  }

  /**
   * Stream of the received datagrams. Only used if the session has no handler with `onDatagram`. If too many datagrams
   * are unread, the oldest are dropped.
   */
  get readable(): ReadableStream<Uint8Array> {
    this.#readable ??= new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#reader = controller;
          this.#endReading();
        },
        pull: () => this.#pull(),
        cancel: () => {
          this.#reader = undefined;
          this.#incoming.length = 0;
        },
      },
      { highWaterMark: 0 },
    );
    return this.#readable;
  }

  /**
   * Stream that sends each datagram written to it, or drops the datagram if it is too large or too old. A write waits
   * only while `outgoingHighWaterMark` datagrams are unsent.
   */
  get writable(): WritableStream<Uint8Array> {
    this.#writable ??= this.createWritable();
    return this.#writable;
  }

  /** Creates another stream that sends datagrams. Datagrams that are too large are dropped. */
  createWritable(): WritableStream<Uint8Array> {
    let writer: WritableStreamDefaultController | undefined;
    return new WritableStream<Uint8Array>({
      start: (controller) => {
        writer = controller;
        if (this.#ended === undefined) this.#writers.add(controller);
        else controller.error(this.#ended.error ?? new TypeError("the session has closed"));
      },
      write: (chunk) => this.#write(chunk),
      close: () => void this.#writers.delete(writer as WritableStreamDefaultController),
      abort: () => void this.#writers.delete(writer as WritableStreamDefaultController),
    });
  }

  /** Milliseconds after which an unread datagram is dropped. Default: never. */
  get incomingMaxAge(): number {
    return this.#incomingMaxAge;
  }
  set incomingMaxAge(age: number | null) {
    this.#incomingMaxAge = checkedAge(age);
  }

  /** Milliseconds after which an unsent datagram is dropped, counted from the write. Default: never. */
  get outgoingMaxAge(): number {
    return this.#outgoingMaxAge;
  }
  set outgoingMaxAge(age: number | null) {
    this.#outgoingMaxAge = checkedAge(age);
  }

  /** Maximum number of unread datagrams that are stored. */
  get incomingHighWaterMark(): number {
    return this.#incomingMark;
  }
  set incomingHighWaterMark(mark: number) {
    this.#incomingMark = checkedMark(mark);
  }

  /** Number of unsent datagrams above which writes wait. */
  get outgoingHighWaterMark(): number {
    return this.#outgoingMark;
  }
  set outgoingHighWaterMark(mark: number) {
    this.#outgoingMark = checkedMark(mark);
  }

  stats(): DatagramStats {
    return { droppedIncoming: this.#dropped, expiredIncoming: this.#expiredIn, expiredOutgoing: this.#expiredOut };
  }

  #pull(): Promise<void> | undefined {
    if (this.#deliver()) return undefined;
    return new Promise((resolve) => {
      this.#pullResolve = resolve;
    });
  }

  /** Delivers the oldest unread datagram that has not expired. Returns false if there is none. */
  #deliver(): boolean {
    const oldest = performance.now() - this.#incomingMaxAge;
    for (;;) {
      const next = this.#incoming.shift();
      if (next === undefined) return false;
      if (next.at >= oldest) {
        this.#reader?.enqueue(next.bytes);
        return true;
      }
      this.#expiredIn++;
    }
  }

  #write(chunk: unknown): Promise<void> | undefined {
    if (!(chunk instanceof ArrayBuffer) && !ArrayBuffer.isView(chunk)) {
      throw new TypeError("a datagram must be an ArrayBuffer or a view of one");
    }
    const bytes = ArrayBuffer.isView(chunk)
      ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      : new Uint8Array(chunk);
    if (this.#outgoing.length === 0 && this.#sent(bytes)) return undefined;
    const waiting = { bytes: bytes.slice(), at: performance.now() };
    if (this.#outgoing.length < this.#outgoingMark) {
      this.#outgoing.push(waiting);
      return undefined;
    }
    return new Promise((release) => this.#outgoing.push({ ...waiting, release }));
  }

  /**
   * Passes a datagram to the native engine. Returns false if there is no room now, so that the datagram must be sent
   * later.
   */
  #sent(bytes: Uint8Array): boolean {
    if (this.#engine === undefined) return false;
    this.#engine.kick();
    return this.#engine.native.sendDatagram(this.#handle, bytes) !== DATAGRAM_BLOCKED;
  }

  /** @internal Called when there is room to send again. */
  receiveDrain(): void {
    const oldest = performance.now() - this.#outgoingMaxAge;
    while (this.#outgoing.length > 0) {
      const next = this.#outgoing[0] as WaitingDatagram;
      if (next.at < oldest) this.#expiredOut++;
      else if (!this.#sent(next.bytes)) break;
      this.#outgoing.shift();
      next.release?.();
    }
  }

  /** @internal Called with a received datagram. */
  receive(bytes: Uint8Array): void {
    if (this.#readable !== undefined && this.#reader === undefined) return;
    this.#incoming.push({ bytes, at: performance.now() });
    if (this.#pullResolve !== undefined && this.#deliver()) {
      const resolvePull = this.#pullResolve;
      this.#pullResolve = undefined;
      resolvePull();
    } else if (this.#incoming.length > this.#incomingMark) {
      this.#incoming.shift();
      this.#dropped++;
    }
  }

  /** @internal Called when the session has ended. */
  receiveClosed(error: Error | undefined): void {
    this.#ended = { error };
    this.#endReading();
    for (const waiting of this.#outgoing.splice(0)) waiting.release?.();
    for (const writer of this.#writers) writer.error(error ?? new TypeError("the session has closed"));
    this.#writers.clear();
  }

  #endReading(): void {
    if (this.#ended === undefined || this.#reader === undefined) return;
    const reader = this.#reader;
    this.#reader = undefined;
    if (this.#ended.error === undefined) reader.close();
    else reader.error(this.#ended.error);
    this.#pullResolve?.();
    this.#pullResolve = undefined;
  }
}

function checkedAge(age: number | null): number {
  if (age === null) return Number.POSITIVE_INFINITY;
  if (!(age >= 0))
    throw new RangeError(`a maximum age must be a number of milliseconds of at least 0, or null, not ${String(age)}`);
  return age === 0 ? Number.POSITIVE_INFINITY : age;
}

function checkedMark(mark: number): number {
  if (!(mark >= 0)) throw new RangeError(`a high-water mark must be a number of at least 0, not ${String(mark)}`);
  return Math.max(1, mark);
}
