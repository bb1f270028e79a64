import { type Cursor, type ItemFlow, ProtocolError, type ReceiveFlow } from "@quicrpc/core/internal";
import type { DirectStream, DirectStreamHandler } from "@quicrpc/core/transport";
import { type PieceFields, readPiece } from "./pieces.js";
import { RetainedBytes } from "./retained-bytes.js";

/** If this many bytes are unacknowledged, a writer should wait. */
const WINDOW: number = 256 * 1024;
/** Bytes that are processed before they are acknowledged. */
const ACKNOWLEDGE_STEP = WINDOW / 4;
/** Most bytes of a piece. */
const MAX_PIECE = 16 * 1024;

/** The carrier of one attempt, as its stream sees it. */
export interface Pipe {
  readonly flow: ItemFlow;
  /** Whether a piece can be written now: no other message is being encoded. */
  readonly idle: boolean;
  send(fields: PieceFields, bytes: Uint8Array): void;
  /** Sends the waiting bytes. */
  flush(): void;
}

/**
 * The byte stream of one resumable call, which outlives the sessions that carry it. Sent bytes are kept until the peer
 * has acknowledged them, and are sent again on the next attempt; the peer drops those that it already has. A call uses
 * it like any other stream. Bytes of items are acknowledged when they are read.
 */
export class DurableStream implements DirectStream {
  /** Bytes received from the peer; its end counts as one byte. */
  received = 0;
  /** Holds the peer back by withholding acknowledgements. */
  readonly receiveFlow: ReceiveFlow = {
    received: (bytes) => void (this.#unread += bytes),
    consumed: (bytes) => this.#release(bytes),
    end: () => this.#release(this.#unread),
  };
  readonly #sent: RetainedBytes = new RetainedBytes();
  #handler: DirectStreamHandler | undefined = undefined;
  #pipe: Pipe | undefined = undefined;
  /** Position of the next byte that the current attempt sends. */
  #next = 0;
  #ended = false;
  #endAcknowledged = false;
  #resetBy: number | undefined = undefined;
  #stoppedBy: number | undefined = undefined;
  /** Whether the current attempt has reported the end, the reset and the stop. */
  #sentEndings = { end: false, reset: false, stop: false };
  #peerOver = false;
  /** Bytes of items that have arrived and are not yet read. */
  #unread = 0;
  /** The last position acknowledged. */
  #acknowledged = 0;
  #full = false;
  #waiting = false;
  /** Bytes received before the current attempt; undefined after the attempt has reported this side's position. */
  #greets: number | undefined = undefined;
  /** Received bytes that the peer will send again, because they were unread when it was told a position. */
  #resentBytes = 0;
  /** The kind that the peer's direction starts with, until it has arrived; it is not passed to the handler. */
  #kind: number | undefined;
  readonly #onChange: () => void;

  /**
   * @param kind kind of the stream, with which the peer's direction begins; undefined if this side has opened it
   * @param onChange called when `settled` may have changed
   */
  constructor(kind: number | undefined, onChange: () => void) {
    this.#kind = kind;
    this.#onChange = onChange;
  }

  /** Whether the peer needs nothing more of this side's direction. */
  get settled(): boolean {
    return this.#endAcknowledged || (this.#resetBy !== undefined && this.#sentEndings.reset);
  }

  /**
   * Position of the first byte that can still be sent. Any position counts as retained if the direction was abandoned.
   */
  get retained(): number {
    return this.#resetBy === undefined ? this.#sent.first : 0;
  }

  /**
   * Returns the position from which the peer of the next attempt should send: the end of what was read, so that it is
   * held back as before. Bytes that arrive twice are dropped.
   */
  resumeFrom(arrived: number = this.received): number {
    this.#acknowledged = this.#acknowledgeable;
    this.#resentBytes = Math.max(0, arrived - this.#acknowledged);
    return this.#acknowledged;
  }

  attach(handler: DirectStreamHandler): void {
    this.#handler = handler;
  }

  write(bytes: Uint8Array, end = false): boolean {
    if (this.#resetBy !== undefined || this.#ended) return true;
    this.#sent.write(bytes);
    this.#ended = end;
    this.#pump();
    this.#full = this.#sent.length >= WINDOW;
    return !this.#full;
  }

  pendingBytes(): number {
    return this.#sent.heldBytes;
  }

  reset(code: number): void {
    if (this.#ended || this.#resetBy !== undefined) return;
    this.#resetBy = code;
    this.#sent.trim(this.#sent.end);
    this.#next = this.#sent.end;
    this.#pump();
  }

  stopSending(code: number): void {
    if (this.#peerOver || this.#stoppedBy !== undefined) return;
    this.#stoppedBy = code;
    this.#pump();
  }

  // Received data is bounded by what the peer may send without an acknowledgement.
  pause(): void {}

  resume(): void {}

  /** Returns true if this side can continue from `position`. If it has abandoned its direction, it can from any. */
  canSendFrom(position: number): boolean {
    if (this.#resetBy !== undefined) return true;
    return position >= this.#sent.first && position <= this.#sent.end + (this.#ended ? 1 : 0);
  }

  /**
   * Continues the stream on `pipe`. The peer has everything before `position`. Throws `ProtocolError` if that is
   * impossible.
   *
   * @param greets whether the peer waits for a piece with this side's position
   */
  carriedBy(pipe: Pipe, position: number, greets: boolean): void {
    if (!this.canSendFrom(position)) throw outOfRange(position);
    this.#pipe = pipe;
    this.#waiting = false;
    this.#greets = greets ? this.received : undefined;
    this.#sentEndings = { end: false, reset: false, stop: false };
    this.#acknowledge(position);
    this.#next = Math.max(this.#sent.first, Math.min(position, this.#sent.end));
    this.#pump();
  }

  /** Called when no attempt carries the stream. */
  detach(): void {
    this.#pipe = undefined;
  }

  /** Processes a piece, whose bytes are valid during the call only. Throws `ProtocolError`. */
  onPiece(cursor: Cursor): void {
    const { acknowledged, end, reset, stop } = readPiece(cursor);
    this.#acknowledge(acknowledged);
    this.#onBytes(cursor);
    if (end && !this.#peerOver) {
      this.#peerOver = true;
      this.received++;
      this.#handler?.onEnd();
    }
    if (reset !== undefined && !this.#peerOver) {
      this.#peerOver = true;
      this.#handler?.onReset(reset);
    }
    if (stop !== undefined && this.#resetBy === undefined && !this.#endAcknowledged) {
      // The written data is no longer needed.
      this.#ended = false;
      this.#handler?.onStopSending(stop);
    }
    this.#pump();
  }

  /** Ends the stream as if the peer had abandoned both directions. */
  abort(code: number): void {
    this.#handler?.onReset(code);
    this.endLocally(undefined);
  }

  /** Ends the stream on this side only. */
  endLocally(error: Error | undefined): void {
    const handler = this.#handler;
    this.#pipe = undefined;
    this.#handler = undefined;
    this.#resetBy ??= 0;
    this.#sent.trim(this.#sent.end);
    handler?.onClosed(error);
  }

  #onBytes(cursor: Cursor): void {
    const { end } = cursor;
    const dropped = Math.min(this.#resentBytes, end - cursor.position);
    this.#resentBytes -= dropped;
    let start = cursor.position + dropped;
    if (start === end || this.#peerOver) return;
    this.received += end - start;
    if (this.#stoppedBy !== undefined) return;
    if (this.#kind !== undefined) {
      if (cursor.bytes[start++] !== this.#kind) throw new ProtocolError("the stream of a call is of another kind");
      this.#kind = undefined;
    }
    if (start < end) this.#handler?.onData(cursor.bytes.subarray(start, end));
  }

  #acknowledge(position: number): void {
    if (this.#resetBy !== undefined) return;
    const sent = this.#sent;
    if (position > sent.end + (this.#ended ? 1 : 0)) throw outOfRange(position);
    sent.trim(Math.min(position, sent.end));
    this.#next = Math.max(this.#next, sent.first);
    if (position > sent.end && !this.#endAcknowledged) {
      this.#endAcknowledged = true;
      this.#onChange();
    }
    if (!this.#full || sent.length >= WINDOW) return;
    this.#full = false;
    this.#handler?.onDrain();
  }

  #release(bytes: number): void {
    this.#unread -= bytes;
    if (this.#acknowledgeable - this.#acknowledged >= ACKNOWLEDGE_STEP) this.#pump();
  }

  /** Position up to which bytes can be acknowledged. The end is acknowledged at once, because nothing follows it. */
  get #acknowledgeable(): number {
    return this.#peerOver ? this.received : Math.max(this.#acknowledged, this.received - this.#unread);
  }

  get #hasNews(): boolean {
    const sentEndings = this.#sentEndings;
    if (
      this.#greets !== undefined ||
      this.#next < this.#sent.end ||
      (this.#ended && !sentEndings.end && !this.#endAcknowledged)
    )
      return true;
    if ((this.#resetBy !== undefined && !sentEndings.reset) || (this.#stoppedBy !== undefined && !sentEndings.stop))
      return true;
    const unacknowledged = this.#acknowledgeable - this.#acknowledged;
    return unacknowledged >= ACKNOWLEDGE_STEP || (this.#peerOver && unacknowledged > 0);
  }

  /** Sends as much as the attempt accepts. */
  #pump(): void {
    const pipe = this.#pipe;
    if (pipe === undefined || this.#waiting || !this.#hasNews) return;
    if (!pipe.idle) {
      this.#waiting = true;
      queueMicrotask(() => this.#resumePump(pipe));
      return;
    }
    while (this.#pipe === pipe && this.#hasNews) {
      if (!pipe.flow.ready) {
        this.#waiting = true;
        pipe.flow.wait(() => this.#resumePump(pipe));
        break;
      }
      this.#sendOne(pipe);
    }
    if (this.#pipe === pipe) pipe.flush();
  }

  #resumePump(pipe: Pipe): void {
    if (this.#pipe !== pipe) return;
    this.#waiting = false;
    this.#pump();
  }

  #sendOne(pipe: Pipe): void {
    const sentEndings = this.#sentEndings;
    const sent = this.#sent;
    const resetBy = this.#resetBy;
    const stoppedBy = this.#stoppedBy;
    const bytes = sent.read(this.#next, MAX_PIECE);
    this.#next += bytes.length;
    const end = this.#ended && !sentEndings.end && this.#next === sent.end;
    const reset = sentEndings.reset ? undefined : resetBy;
    const stop = sentEndings.stop ? undefined : stoppedBy;
    sentEndings.end ||= end;
    sentEndings.stop ||= stop !== undefined;
    if (this.#greets === undefined) this.#acknowledged = this.#acknowledgeable;
    else this.resumeFrom(this.#greets);
    this.#greets = undefined;
    pipe.send({ acknowledged: this.#acknowledged, end, reset, stop }, bytes);
    if (reset === undefined) return;
    sentEndings.reset = true;
    this.#onChange();
  }
}

function outOfRange(position: number): ProtocolError {
  return new ProtocolError(`position ${position} of a stream is not among those that were sent`);
}
