import { type Cursor, type ItemFlow, ProtocolError, type ReceiveFlow } from "@quicrpc/core/internal";
import type { DirectStream, DirectStreamHandler } from "@quicrpc/core/transport";
import { type PieceFields, readPiece } from "./pieces.js";
import { RetainedBytes } from "./retained-bytes.js";

/** Number of unacknowledged bytes at which the writer must wait. */
const WINDOW: number = 256 * 1024;
/** Number of bytes that are processed before an acknowledgement is sent. */
const ACKNOWLEDGE_STEP = WINDOW / 4;
const MAX_PIECE = 16 * 1024;

/** The attempt that carries a durable stream: the methods that the stream uses. */
export interface Pipe {
  readonly flow: ItemFlow;
  /** True if `send` may be called now: the channel's writer is not encoding a message. */
  readonly idle: boolean;
  send(fields: PieceFields, bytes: Uint8Array): void;
  flush(): void;
}

/**
 * Byte stream of one resumable call, which outlives the sessions that carry it. Stores sent bytes until the peer has
 * acknowledged them, and sends them again on the next attempt. The peer drops bytes that it has already received. Bytes
 * of items are acknowledged when the application has read them.
 */
export class DurableStream implements DirectStream {
  /** Number of bytes received from the peer. The end of the stream counts as one byte. */
  received = 0;
  /** Applies backpressure to the peer by delaying acknowledgements. */
  readonly receiveFlow: ReceiveFlow = {
    received: (bytes) => void (this.#unread += bytes),
    consumed: (bytes) => this.#release(bytes),
    end: () => this.#release(this.#unread),
  };
  readonly #sent: RetainedBytes = new RetainedBytes();
  #handler: DirectStreamHandler | undefined = undefined;
  #pipe: Pipe | undefined = undefined;
  /** Position of the next byte to send on the current attempt. */
  #next = 0;
  #ended = false;
  #endAcknowledged = false;
  #resetBy: number | undefined = undefined;
  #stoppedBy: number | undefined = undefined;
  /** Whether the current attempt has sent the end of the stream, its reset, and the request to stop. */
  #sentEndings = { end: false, reset: false, stop: false };
  #peerOver = false;
  /** Number of received bytes of items that the application has not read yet. */
  #unread = 0;
  /** Last position that was acknowledged to the peer. */
  #acknowledged = 0;
  #full = false;
  #waiting = false;
  /**
   * Number of bytes received before the current attempt. Undefined once this attempt has sent that position to the
   * peer.
   */
  #greets: number | undefined = undefined;
  /**
   * Number of bytes that were already received but that the peer will send again, because the application had not read
   * them when the peer was sent a position.
   */
  #resentBytes = 0;
  /** Kind of stream with which the peer's bytes begin, until that byte has arrived. It is not passed to the handler. */
  #kind: number | undefined;
  readonly #onChange: () => void;

  /**
   * @param kind kind of stream with which the peer's bytes begin; undefined if this side has opened the stream
   * @param onChange called when `settled` may have changed
   */
  constructor(kind: number | undefined, onChange: () => void) {
    this.#kind = kind;
    this.#onChange = onChange;
  }

  /** True if the peer needs no more data from this side. */
  get settled(): boolean {
    return this.#endAcknowledged || (this.#resetBy !== undefined && this.#sentEndings.reset);
  }

  /**
   * Position of the first byte that can still be sent. If this side has reset the stream, it can continue from any
   * position.
   */
  get retained(): number {
    return this.#resetBy === undefined ? this.#sent.first : 0;
  }

  /**
   * Returns the position from which the peer must send on the next attempt: after the bytes that the application has
   * read, so that backpressure continues. Bytes that arrive again are dropped.
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

  /** Returns true if this side can continue to send from `position`. Always true if this side has reset the stream. */
  canSendFrom(position: number): boolean {
    if (this.#resetBy !== undefined) return true;
    return position >= this.#sent.first && position <= this.#sent.end + (this.#ended ? 1 : 0);
  }

  /**
   * Continues the stream on the attempt `pipe`. The peer has received all bytes before `position`. Throws
   * `ProtocolError` if the stream cannot continue from there.
   *
   * @param greets true if the peer waits for a piece with this side's position
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

  /** Notes that no attempt carries the stream, for example after its session was lost. */
  detach(): void {
    this.#pipe = undefined;
  }

  /**
   * Processes a received piece, whose bytes are only valid during the call. Throws `ProtocolError` for a malformed
   * piece.
   */
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

  /** Ends the stream as if the peer had reset both directions. */
  abort(code: number): void {
    this.#handler?.onReset(code);
    this.endLocally(undefined);
  }

  /** Ends the stream on this side, without notifying the peer. */
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

  /**
   * Position up to which received bytes can be acknowledged. The end of the stream is acknowledged at once, because no
   * data follows it.
   */
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
