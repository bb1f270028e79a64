import type { Positions } from "./positions.js";
import type { MessageCodec } from "../../contract/descriptor.js";
import type { Limits } from "../../limits.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import type { CallChannel } from "../carrier.js";

/** A source that a handler or caller may stream from. */
export type StreamSource<Item> = AsyncIterable<Item> | Iterable<Item> | ReadableStream<Item>;

/** A source of items, in any permitted form. */
export interface ItemSource {
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  /**
   * Stops the producer, because its items are no longer needed; errors that it throws are ignored. Resolves when it has
   * ended. Undefined if only the end of a pending `next` shows that.
   */
  stop(): Promise<void> | undefined;
}

/** Throws `TypeError` if the value is not a `StreamSource`. */
export function itemSource(given: unknown): ItemSource {
  if (typeof given === "object" && given !== null) {
    // Before its async iterator: that one would cancel only after a pending read.
    if (given instanceof ReadableStream) return readerSource(given.getReader());
    if (Symbol.asyncIterator in given) return iteratorSource((given as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    if (Symbol.iterator in given) return iteratorSource((given as Iterable<unknown>)[Symbol.iterator]());
  }
  throw new TypeError("a stream must be an iterable or a ReadableStream");
}

/** Stops a source whose call was not started. */
export function leave(source: unknown): void {
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

/** Tells the sender of items when it may continue. */
export interface ItemFlow {
  readonly ready: boolean;
  /** Calls `resume` once when `ready`; at the call's end as well, so that the sender can stop. */
  wait(resume: () => void): void;
}

/** Destination of the items of one side of a call. */
export interface ItemTarget {
  /** Whether nothing more can be sent. */
  readonly over: boolean;
  readonly flow: ItemFlow;
  /** Most bytes of an item, if items are raw bytes; otherwise undefined. */
  readonly rawPiece: number | undefined;
  /** Checks the cursors of items that have some. */
  readonly positions?: Positions | undefined;
  /** Called after each item. If it returns a promise, the next item waits for it. */
  turn?(): Promise<void> | undefined;
  /** Called when the source of the items has ended, whether or not the call has; possibly twice. */
  onSettled?(): void;
  /** Called once when the call ends before the items do. */
  onGivenUp: (() => void) | undefined;
  /** Sends an item. Throws if it cannot be sent. */
  item(item: unknown): void;
  end(): void;
  fail(error: unknown): void;
}

/** Sends all items of `given`, or of the value to which it resolves, as fast as the peer accepts them. Never rejects. */
export async function sendItems(target: ItemTarget, given: unknown): Promise<void> {
  let source: ItemSource | undefined;
  // Called at once, even while a `next` is pending; a generator runs its `finally` when that `next` settles.
  let leaving: Promise<void> | undefined;
  const stop = (): void => {
    leaving = source?.stop();
    void leaving?.then(() => target.onSettled?.());
  };
  target.onGivenUp = stop;
  try {
    source = itemSource(await given);
    if (target.rawPiece !== undefined) source = bytePieces(source, target.rawPiece);
    if (target.over) stop();
    while (!target.over) {
      const step = source.next();
      const { done, value } = "then" in step ? await step : step;
      if (done === true) break;
      if (!sendItem(target, value)) stop();
      else if (!target.flow.ready) await new Promise<void>((resolve) => target.flow.wait(resolve));
      const turn = target.turn?.();
      if (turn !== undefined) await turn;
    }
    if (leaving === undefined) target.onSettled?.();
    target.end();
  } catch (error) {
    target.onSettled?.();
    target.fail(error);
  }
}

/** Sends an item. Returns false if that fails; the call has then failed. */
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

/** Most bytes of raw data in one frame: few enough that other calls of a lane get their turn in between. */
export const MAX_PIECE: number = 64 * 1024;
/** Maximum bytes of an item's frame in addition to its payload. */
const MAX_FRAMING = 16;

/** Returns the most bytes of one item of `codec`; undefined for messages, which are never split. */
export function bytePieceOf(
  codec: MessageCodec<unknown> | undefined,
  { maxFrameBytes }: Pick<Limits, "maxFrameBytes">,
): number | undefined {
  return codec?.bytes === true ? Math.min(MAX_PIECE, maxFrameBytes - MAX_FRAMING) : undefined;
}

/**
 * Splits `chunk` into pieces of at most `size` bytes. Anything that is not a chunk is passed on, for the codec to
 * refuse.
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

/** The chunks of `source`, in pieces of at most `size` bytes. */
function bytePieces(source: ItemSource, size: number): ItemSource {
  let pieces: Generator<unknown, undefined> | undefined;
  const fresh = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done === true) return result;
    pieces = cut(result.value, size);
    return pieces.next();
  };
  return {
    next() {
      const rest = pieces?.next();
      if (rest?.done === false) return rest;
      const result = source.next();
      return "then" in result ? result.then(fresh) : fresh(result);
    },
    stop: () => source.stop(),
  };
}

/** Delays this side's items, by the peer's credit and by the room in the transport. */
export class SendFlow implements ItemFlow {
  /** Bytes that the peer has room for; infinite if the stream itself provides backpressure. */
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

  /** Called when the call is over. */
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

  /** Waits for the channel once, however often it is called. */
  private queue(): void {
    if (this.queued) return;
    this.queued = true;
    this.carrier.channel.whenWritable(() => {
      this.queued = false;
      this.wake();
    });
  }
}
