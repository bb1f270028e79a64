import type { MessageCodec } from "../../contract/descriptor.js";
import { ProtocolError } from "../../errors.js";
import { ITEM_BYTES, type MemoryBudget } from "../../memory-budget.js";
import type { ClientLimits } from "../../client-limits.js";
import { Metadata } from "../../metadata.js";
import type { SessionCompression } from "../../transport/compression.js";
import { cursorOf } from "../../wire/cursor.js";
import { FLAG_HEAD, type Frame } from "../../wire/frame.js";
import { decodeMetadata, type RawMetadata } from "../../wire/metadata.js";
import { readHead } from "../../wire/head.js";
import type { CallChannel } from "../carrier.js";
import { type ItemQueue, itemQueue, type ItemStream } from "./item-stream.js";
import { decodePayload } from "../messages/payload.js";

/** Number of unread bytes at which a call's own stream is paused. Reading resumes at `RESUME_AT`. */
const PAUSE_AT = 256 * 1024;
const RESUME_AT = 128 * 1024;

/**
 * Flow control on the receiving side of a call's items. On a lane the receiver grants credit; on a call's own stream it
 * stops reading, so that QUIC's flow control stops the sender.
 */
export interface ReceiveFlow {
  /**
   * Called when an item frame of `bytes` bytes has arrived. Throws `ProtocolError` if the peer had no credit for it.
   */
  received(bytes: number): void;
  /** Called when the application has read an item whose frame has `bytes` bytes. */
  consumed(bytes: number): void;
  /** Called when the call is over. Stops granting credit, because the call id may be reused by another call. */
  end(): void;
  /** Number of bytes that the sender may still send. Absent on a call's own stream. */
  readonly credit?: number;
}

export interface FlowCarrier {
  readonly channel: Pick<CallChannel["channel"], "compression" | "budget">;
  receiveFlow(id: number): ReceiveFlow;
}

export function receiveFlowOf(carrier: CallChannel | FlowCarrier, id: number): ReceiveFlow {
  return carrier.receiveFlow?.(id) ?? new StreamReceiveFlow(carrier as CallChannel);
}

class StreamReceiveFlow implements ReceiveFlow {
  private unread = 0;
  private paused = false;
  private over = false;
  private readonly carrier: CallChannel;

  constructor(carrier: CallChannel) {
    this.carrier = carrier;
  }

  received(bytes: number): void {
    this.unread += bytes;
    if (this.paused || this.over || this.unread < PAUSE_AT) return;
    this.paused = true;
    this.carrier.channel.pause();
  }

  consumed(bytes: number): void {
    this.unread -= bytes;
    if (this.unread <= RESUME_AT) this.goOn();
  }

  /** Resumes the stream, because the end of the stream after the last item must still be read. */
  end(): void {
    this.over = true;
    this.goOn();
  }

  private goOn(): void {
    if (!this.paused) return;
    this.paused = false;
    this.carrier.channel.resume();
  }
}

/**
 * Receives the items of a call: decodes item frames, applies flow control, and delivers the items in an `ItemStream`.
 */
export class ItemReceiver {
  private codec: MessageCodec<unknown> | undefined = undefined;
  private compression: SessionCompression | undefined = undefined;
  private limits: ClientLimits | undefined = undefined;
  readonly queue: ItemQueue<unknown>;
  flow: ReceiveFlow | undefined = undefined;
  private budget: MemoryBudget | undefined = undefined;
  /** Bytes charged to the memory budget for unread items. */
  private unreadBytes = 0;
  private abandoned = false;
  private ended = false;

  /**
   * @param onAbandoned called when the application stops reading before the end
   * @param ofAttempt true if these are the items of one attempt of a resumable call
   */
  constructor(onAbandoned: () => void, ofAttempt?: boolean) {
    const owner = {
      onTaken: (size: number, heldBytes: number) => {
        this.release(heldBytes);
        this.flow?.consumed(size);
      },
      onAbandoned: () => {
        this.abandoned = true;
        onAbandoned();
      },
    };
    this.queue = itemQueue(owner, ofAttempt);
  }

  get stream(): ItemStream<unknown> {
    return this.queue.stream;
  }

  /**
   * Attaches the receiver to the lane or stream on which its items arrive.
   *
   * @param codec codec of the items; undefined if they have no content
   */
  carriedBy(
    carrier: CallChannel | FlowCarrier,
    id: number,
    codec: MessageCodec<unknown> | undefined,
    limits: ClientLimits,
  ): void {
    this.codec = codec;
    this.limits = limits;
    this.compression = carrier.channel.compression;
    this.flow = receiveFlowOf(carrier, id);
    this.budget = carrier.channel.budget;
  }

  /**
   * Decodes an item frame and queues the item. Throws `ProtocolError` if the peer had no credit for it, and `RpcError`
   * if it cannot be decoded.
   */
  receive(frame: Frame): void {
    if (this.ended) throw new ProtocolError("an item after the end of the items");
    const { size } = frame;
    this.flow?.received(size);
    if (this.abandoned) {
      this.flow?.consumed(size);
      return;
    }
    const cursor = cursorOf(frame);
    if ((frame.flags & FLAG_HEAD) !== 0) readHead(cursor, (this.limits as ClientLimits).maxMetadataBytes);
    const budget = this.budget as MemoryBudget;
    const item = decodePayload(this.codec, frame, cursor.position, this.compression, budget);
    const heldBytes = budget.decodedBytes + ITEM_BYTES;
    this.unreadBytes += heldBytes;
    const isCharged = budget.charge(heldBytes);
    // If a reader is waiting, `push` delivers the item and releases its bytes at once.
    this.queue.push(item, size, heldBytes);
    if (!isCharged && this.unreadBytes > 0) throw budget.refusal("what was not read of a stream");
  }

  /**
   * Releases the memory budget of all unread items, because the call is over. The application can still read these
   * items.
   */
  releaseAll(): void {
    this.release(this.unreadBytes);
  }

  private release(bytes: number): void {
    const released = Math.min(bytes, this.unreadBytes);
    this.unreadBytes -= released;
    this.budget?.release(released);
  }

  receiveMetadata(metadata: RawMetadata | undefined, trailers: RawMetadata | undefined): void {
    const { responseMetadata: before = new Metadata() } = this.queue.answer ?? {};
    this.queue.answer = {
      responseMetadata: metadata === undefined ? before : decodeMetadata(metadata),
      trailers: decodeMetadata(trailers),
    };
  }

  end(error: Error | undefined): void {
    this.ended = true;
    this.flow?.end();
    this.queue.end(error);
  }
}
