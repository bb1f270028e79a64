import type { Positions } from "./positions.js";
import type { MessageCodec } from "../../contract/descriptor.js";
import type { Limits } from "../../limits.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import type { CallChannel } from "../carrier.js";

/** The values that a handler or caller may use as a stream of items. */
export type StreamSource<Item> = AsyncIterable<Item> | Iterable<Item> | ReadableStream<Item>;

/** A uniform interface to the permitted `StreamSource` types: iterators and stream readers. */
export interface ItemSource {
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  /**
   * Stops the producer, because its items are no longer needed. Errors of the producer are ignored. The promise
   * resolves when the producer has ended; undefined if the producer cannot be stopped.
   */
  stop(): Promise<void> | undefined;
}

/** Returns a reader of the items of `source`. Throws `TypeError` if it is not a `StreamSource`. */
export function itemSource(source: unknown): ItemSource {
  if (typeof source === "object" && source !== null) {
    // Checked before the async iterator, whose `return` would wait for a pending read.
    if (source instanceof ReadableStream) return readerSource(source.getReader());
    if (Symbol.asyncIterator in source)
      return iteratorSource((source as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    if (Symbol.iterator in source) return iteratorSource((source as Iterable<unknown>)[Symbol.iterator]());
  }
  throw new TypeError("a stream must be an iterable or a ReadableStream");
}

/** Stops a source of items whose call was not started. */
export function leaveSource(source: unknown): void {
  try {
    void itemSource(source).stop();
  } catch {
    // Not a valid source: the call's error already reports it.
  }
}

function readerSource(reader: ReadableStreamDefaultReader<unknown>): ItemSource {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    stop: () => reader.cancel().catch(nothing),
  };
}

function iteratorSource(iterator: AsyncIterator<unknown> | Iterator<unknown>): ItemSource {
  return {
    next: () => iterator.next(),
    stop: () =>
      iterator.return &&
      Promise.resolve()
        .then(() => iterator.return?.())
        .then(nothing, nothing),
  };
}

function nothing(): void {}

/** Flow control on the sending side: it delays the next item until the peer and the transport have room. */
export interface ItemFlow {
  readonly ready: boolean;
  /** Calls `resume` once, as soon as `ready` is true. Also calls it when the call ends, so that the sender can stop. */
  wait(resume: () => void): void;
}

export interface ItemTarget {
  readonly over: boolean;
  readonly flow: ItemFlow;
  /** Maximum size of an item in bytes, if the items are raw bytes; undefined for messages, which are not split. */
  readonly rawPiece: number | undefined;
  /** Checks the cursors of the items; undefined if the items have no cursors. */
  readonly positions?: Positions | undefined;
  /** Called after each item. The next item waits for the returned promise, if there is one. */
  turn?(): Promise<void> | undefined;
  /** Called when the producer of the items has ended, even after the call has. May be called twice. */
  onSettled?(): void;
  /** Called once if the call ends before all items were sent. */
  onGivenUp: (() => void) | undefined;
  /** Sends an item. Throws if the item does not match its schema or is too large. */
  item(item: unknown): void;
  end(): void;
  fail(error: unknown): void;
}

/**
 * Sends all items of `input`, or of the value that it resolves with, as fast as the peer accepts them. Never rejects:
 * errors are passed to `target.fail`.
 */
export async function sendItems(target: ItemTarget, input: unknown): Promise<void> {
  let source: ItemSource | undefined;
  // Stopping does not wait for a pending `next`; a generator runs its `finally` block when that `next` settles.
  let leaving: Promise<void> | undefined;
  const stop = (): void => {
    leaving = source?.stop();
    void leaving?.then(() => target.onSettled?.());
  };
  target.onGivenUp = stop;
  try {
    source = itemSource(await input);
    if (target.rawPiece !== undefined) source = bytePieces(source, target.rawPiece);
    if (target.over) stop();
    while (!target.over) {
      const step = source.next();
      const { done, value } = "then" in step ? await step : step;
      if (done === true) break;
      if (!sendItem(target, value)) stop();
      else if (!target.flow.ready) await new Promise<void>((resolve) => target.flow.wait(resolve));
      const nextTurn = target.turn?.();
      if (nextTurn !== undefined) await nextTurn;
    }
    if (leaving === undefined) target.onSettled?.();
    target.end();
  } catch (error) {
    target.onSettled?.();
    target.fail(error);
  }
}

/** Checks and sends an item. If that fails, fails the call and returns false. */
function sendItem(target: ItemTarget, item: unknown): boolean {
  try {
    target.positions?.pass(item);
    target.item(item);
    return true;
  } catch (error) {
    target.fail(error);
    return false;
  }
}

/** Maximum bytes of raw data in one frame. Small, so that other calls on the same lane can send in between. */
export const MAX_PIECE: number = 64 * 1024;
/** Maximum size of an item's frame header, in bytes. */
const MAX_FRAMING = 16;

/** Returns the maximum size in bytes of an item that `codec` encodes. Undefined for messages, which are never split. */
export function bytePieceOf(
  codec: MessageCodec<unknown> | undefined,
  { maxFrameBytes }: Pick<Limits, "maxFrameBytes">,
): number | undefined {
  return codec?.bytes === true ? Math.min(MAX_PIECE, maxFrameBytes - MAX_FRAMING) : undefined;
}

/**
 * Splits `chunk` into pieces of at most `size` bytes. Yields any value that is not a `Uint8Array` unchanged; the codec
 * then refuses it.
 */
export function cut(chunk: Uint8Array, size: number): Generator<Uint8Array, undefined>;
export function cut(chunk: unknown, size: number): Generator<unknown, undefined>;
export function* cut(chunk: unknown, size: number): Generator<unknown, undefined> {
  if (!(chunk instanceof Uint8Array) || chunk.length <= size) {
    yield chunk;
    return;
  }
  for (let at = 0; at < chunk.length; at += size) yield chunk.subarray(at, at + size);
}

function bytePieces(source: ItemSource, size: number): ItemSource {
  let pieces: Generator<unknown, undefined> | undefined;
  const fresh = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done === true) return result;
    pieces = cut(result.value, size);
    return pieces.next();
  };
  return {
    next() {
      const remainder = pieces?.next();
      if (remainder?.done === false) return remainder;
      const result = source.next();
      return "then" in result ? result.then(fresh) : fresh(result);
    },
    stop: () => source.stop(),
  };
}

/** Flow control for the items that this side sends: it waits for the peer's credit and for space in the transport. */
export class SendFlow implements ItemFlow {
  /** Number of bytes that the peer still accepts. Infinite on a call's own stream, where QUIC limits the sender. */
  credit: number;
  private readonly carrier: CallChannel;
  private resume: (() => void) | undefined = undefined;
  private queued = false;
  private ended = false;

  constructor(carrier: CallChannel) {
    this.carrier = carrier;
    this.credit = carrier.single ? Number.POSITIVE_INFINITY : INITIAL_CREDIT;
  }

  get ready(): boolean {
    return this.ended || (this.credit > 0 && this.carrier.channel.writable);
  }

  spend(bytes: number): void {
    this.credit -= bytes;
  }

  grant(bytes: number): void {
    this.credit += bytes;
    this.wake();
  }

  wait(resume: () => void): void {
    this.resume = resume;
    if (this.ended) this.end();
    else this.wake();
  }

  /** Ends the flow control, because the call has ended. Wakes a sender that waits, so that it stops. */
  end(): void {
    this.ended = true;
    const { resume } = this;
    this.resume = undefined;
    resume?.();
  }

  private wake(): void {
    if (this.resume === undefined || this.credit <= 0) return;
    const { resume } = this;
    if (!this.carrier.channel.writable) {
      this.queue();
      return;
    }
    this.resume = undefined;
    resume();
  }

  /** Calls `wake` when the channel is writable. Further calls before that have no effect. */
  private queue(): void {
    if (this.queued) return;
    this.queued = true;
    this.carrier.channel.whenWritable(() => {
      this.queued = false;
      this.wake();
    });
  }
}
