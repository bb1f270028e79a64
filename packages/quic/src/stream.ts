import type { Engine } from "./engine.js";
import { QuicError } from "./errors.js";
import { handleIndex } from "./handles.js";
import { FLAG_ABOVE_HIGH_WATER, FLAG_FREED } from "./native-layout.js";
import type { HeaderPairs } from "./http-request.js";
import { StreamWebApi } from "./stream-web-api.js";

/**
 * Receives the events of one stream. Passed to `QuicStream.attach`. Either `onEnd` or `onReset` is the last event of
 * the receiving side.
 */
export interface StreamHandler {
  /**
   * Called with received bytes, in order. The chunk is a view of a larger buffer. The handler may keep the chunk, whose
   * memory is not reused, unless the handler sets `borrows`.
   */
  onData(chunk: Uint8Array): void;
  /**
   * Set to true if the handler does not use a chunk after `onData` has returned. The memory is then reused, which
   * avoids garbage collection. Default false.
   */
  readonly borrows?: boolean;
  /** Called before `onEnd` with the trailers of an HTTP message; not called for a message without trailers. */
  onTrailers?(trailers: HeaderPairs): void;
  /** Called when the peer has ended its side of the stream (FIN). */
  onEnd(): void;
  /** Called when the peer has reset its sending side. The code is 0 to 2^32-1 (RFC 9000 §19.4). */
  onReset(code: number): void;
  /** Called when the peer has asked this side to stop sending (RFC 9000 §19.5). Data written from now on is ignored. */
  onStopSending(code: number): void;
  /** Called when the peer has acknowledged the whole message. Only for streams of HTTP requests. */
  onSent?(): void;
  /** Called once after a `write` has returned false, when fewer bytes than the high-water mark are unsent. */
  onDrain(): void;
  /**
   * Called if the session ends before the stream does. It is the last call. `error` is undefined if either side closed
   * the session with code 0.
   */
  onClosed(error: Error | undefined): void;
}

/** An event that waits for delivery: received bytes, or a function that calls the handler. */
type QueuedEvent = Uint8Array | ((handler: StreamHandler) => void);

/** A callback that inspects the first bytes of a stream before a handler is attached. */
interface Peek {
  readonly inspect: (bytes: Uint8Array) => boolean;
  readonly onOver: () => void;
}

/** A QUIC stream. All methods are synchronous, and have no effect after the end of the stream. */
export class QuicStream {
  readonly #engine: Engine;
  /** Handle of the stream in the native engine, or -1 after the engine has freed the stream. */
  #handle: number;
  #id: number | undefined;
  #handler: StreamHandler | undefined;
  /**
   * True if events are delivered directly: a handler is attached, the stream is not paused, and no events are waiting.
   */
  #flowing = false;
  #paused = false;
  #receiving = true;
  #enginePaused = false;
  /** Events that wait for delivery. Undefined if there have never been any. */
  #queued: QueuedEvent[] | undefined;
  #peek: Peek | undefined;
  #webApi: StreamWebApi | undefined;

  /**
   * True if the peer opened the stream before the handshake was complete (0-RTT). An attacker who recorded the data can
   * send it again, to this or another process, so the application must be able to process it twice. See docs/tuning.md.
   */
  readonly early: boolean;

  /** @internal */
  constructor(engine: Engine, handle: number, early: boolean) {
    this.early = early;
    this.#engine = engine;
    this.#handle = handle;
  }

  /**
   * QUIC stream id (RFC 9000 §2.1), or -1 while the stream waits for the peer's stream limit. Read from the engine on
   * first use, so it is also -1 if the stream has ended before that.
   */
  get id(): number {
    if (this.#id === undefined && this.#handle >= 0) {
      const id = this.#engine.native.streamId(this.#handle);
      if (id >= 0) this.#id = id;
    }
    return this.#id ?? -1;
  }

  /**
   * Attaches the handler and starts to deliver events, beginning with those that have already arrived. Can be called
   * once per stream.
   */
  attach(handler: StreamHandler): void {
    if (this.#handler !== undefined) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_ATTACHED", message: "the stream already has a handler" });
    }
    this.#handler = handler;
    if (!this.#paused) this.#flow();
  }

  /**
   * Inspects the first bytes of the stream before `attach`. Calls `inspect` with the bytes that have arrived, and again
   * when more arrive, until it returns false. Then flow control stops the peer until a handler is attached, which
   * receives all bytes. Calls `onOver` if the stream ends first.
   */
  peek(inspect: (bytes: Uint8Array) => boolean, onOver: () => void): void {
    this.#peek = { inspect, onOver };
    this.#joinHeld();
    if (this.#queued?.[0] !== undefined) this.#inspectFirst();
  }

  /**
   * Sends a copy of `bytes`. If `end` is true, also ends the sending side (FIN). Returns false if more bytes than the
   * high-water mark are unsent; `onDrain` is called once afterwards.
   */
  write(bytes: Uint8Array, end = false): boolean {
    if (this.#handle < 0) return true;
    const engine = this.#engine;
    if (engine.threaded) engine.kick();
    const flags = engine.native.write(this.#handle, bytes, end);
    if (flags === 0) return true;
    if ((flags & FLAG_FREED) !== 0) this.#release();
    return (flags & FLAG_ABOVE_HIGH_WATER) === 0;
  }

  /** @internal Sends status and header fields of the response to a plain HTTP request. */
  respond(status: number, fields: string, bytes: Uint8Array, end: boolean): boolean {
    if (this.#handle < 0) return true;
    this.#engine.kick();
    return (this.#engine.native.respond(this.#handle, status, fields, bytes, end) & FLAG_ABOVE_HIGH_WATER) === 0;
  }

  /** @internal Ends an HTTP message with trailers. */
  endWithTrailers(fields: string): void {
    if (this.#handle < 0) return;
    this.#engine.kick();
    if ((this.#engine.native.endWithTrailers(this.#handle, fields) & FLAG_FREED) !== 0) this.#release();
  }

  /** Number of written bytes that the connection has not accepted yet because of congestion or flow control. */
  pendingBytes(): number {
    return this.#handle < 0 ? 0 : this.#engine.native.pendingBytes(this.#handle);
  }

  /**
   * Resets the sending side: sends RESET_STREAM with `code`, 0 to 2^32-1 (RFC 9000 §19.4). Data that has not been sent
   * is lost.
   */
  reset(code: number): void {
    if (this.#handle < 0) return;
    this.#engine.kick();
    if ((this.#engine.native.reset(this.#handle, code) & FLAG_FREED) !== 0) this.#release();
  }

  /**
   * Sets the priority of the stream. Streams with a higher priority are sent first, and streams with the same priority
   * take turns. Default 0. Integers from -2^31 to 2^31-1; other numbers are rounded and clamped.
   */
  setPriority(priority: number): void {
    if (this.#handle < 0) return;
    const clamped = Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.trunc(priority) || 0));
    this.#engine.native.setPriority(this.#handle, clamped);
  }

  /**
   * Asks the peer to stop sending: sends STOP_SENDING with `code` (RFC 9000 §19.5). No more received data is delivered.
   */
  stopSending(code: number): void {
    if (!this.#receiving) return;
    this.#receiving = false;
    this.#queued = undefined;
    if (this.#handle < 0) return;
    this.#engine.kick();
    if ((this.#engine.native.stopSending(this.#handle, code) & FLAG_FREED) !== 0) this.#release();
  }

  /** Stops delivering received data, so that flow control stops the peer (RFC 9000 §4.1). */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#flowing = false;
    this.#pauseEngine(true);
  }

  /** Continues to deliver received data after `pause`. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#handler !== undefined) this.#flow();
    else if (!this.#queued?.some((event) => event instanceof Uint8Array)) this.#pauseEngine(false);
  }

  /** Receiving side of the stream as a byte stream. Use it instead of a handler. */
  get readable(): ReadableStream<Uint8Array> {
    return this.#web().readable;
  }

  /**
   * Sending side of the stream. Use it instead of a handler. `abort` resets the stream with the error's
   * `streamErrorCode`, or 0.
   */
  get writable(): WritableStream<Uint8Array> {
    return this.#web().writable;
  }

  /** @internal Ends a stream that the application does not accept. */
  refuse(): void {
    this.stopSending(0);
    this.reset(0);
  }

  #web(): StreamWebApi {
    this.#webApi ??= new StreamWebApi(this);
    return this.#webApi;
  }

  #pauseEngine(paused: boolean): void {
    if (this.#enginePaused === paused || this.#handle < 0) return;
    this.#enginePaused = paused;
    this.#engine.kick();
    this.#engine.native.setPaused(this.#handle, paused);
  }

  #flow(): void {
    if (this.#holds) {
      queueMicrotask(() => this.#deliverHeld());
      return;
    }
    this.#queued = undefined;
    this.#flowing = true;
    this.#pauseEngine(false);
  }

  get #holds(): boolean {
    return this.#queued !== undefined && this.#queued.length > 0;
  }

  #hold(event: QueuedEvent): void {
    this.#queued ??= [];
    this.#queued.push(event);
  }

  /** Delivers the events that waited. If the handler throws, the remaining events are still delivered later. */
  #deliverHeld(): void {
    const handler = this.#handler;
    if (handler === undefined || this.#paused) return;
    try {
      while (this.#holds && !this.#paused) deliver(handler, this.#queued?.shift() as QueuedEvent);
    } finally {
      if (!this.#paused && !this.#flowing) this.#flow();
    }
  }

  /** Frees the stream in the engine's tables after a call from JavaScript has ended it. */
  #release(): void {
    this.#engine.releaseStream(handleIndex(this.#handle));
    this.#handle = -1;
  }

  /** Clears the handle after the native engine has ended the stream. */
  #forgetHandle(): void {
    if (this.#handle < 0) return;
    this.#engine.streams[handleIndex(this.#handle)] = undefined;
    this.#handle = -1;
  }

  /** @internal Called by the engine with received bytes. */
  receiveData(slab: ArrayBufferLike, offset: number, length: number): void {
    if (!this.#receiving) return;
    const chunk = new Uint8Array(slab, offset, length);
    if (this.#flowing) {
      const handler = this.#handler as StreamHandler;
      handler.onData(chunk);
      if (handler.borrows !== true) this.#engine.keepBatch();
      return;
    }
    // Copied: one held byte would keep its whole slab.
    const queued = this.#queued;
    const first = queued?.[0];
    if (this.#peek !== undefined && queued !== undefined && first instanceof Uint8Array)
      queued[0] = Buffer.concat([first, chunk]);
    else this.#hold(chunk.slice());
    if (this.#peek === undefined) this.#pauseEngine(true);
    else this.#inspectFirst();
  }

  /** Joins received chunks into one, because `peek` passes all bytes to its callback. */
  #joinHeld(): void {
    const queued = this.#queued ?? [];
    const events = queued.findIndex((event) => !(event instanceof Uint8Array));
    const count = events < 0 ? queued.length : events;
    if (count > 1) queued.splice(0, count, Buffer.concat(queued.slice(0, count) as Uint8Array[]));
  }

  #inspectFirst(): void {
    const first = this.#queued?.[0];
    if (!(first instanceof Uint8Array) || !this.#receiving) this.#peekIsOver();
    else if (this.#peek?.inspect(first) === true) this.#pauseEngine(false);
    else {
      this.#peek = undefined;
      this.#pauseEngine(true);
    }
  }

  #peekIsOver(): void {
    const peek = this.#peek;
    this.#peek = undefined;
    peek?.onOver();
  }

  /** @internal Called by the engine when the peer has ended its side of the stream. */
  receiveEnd(isFreed: boolean, trailers: HeaderPairs | undefined): void {
    if (isFreed) this.#forgetHandle();
    if (!this.#receiving) return;
    this.#receiving = false;
    if (this.#flowing) end(this.#handler as StreamHandler, trailers);
    else this.#hold((handler) => end(handler, trailers));
    this.#peekIsOver();
  }

  /** @internal Called by the engine when the peer has reset its sending side. */
  receiveReset(isFreed: boolean, code: number): void {
    if (isFreed) this.#forgetHandle();
    if (!this.#receiving) return;
    this.#receiving = false;
    if (this.#flowing) (this.#handler as StreamHandler).onReset(code);
    else this.#hold((handler) => handler.onReset(code));
    this.#peekIsOver();
  }

  /** @internal Called when the peer has stopped reading. Pausing does not delay events of the sending side. */
  receiveStopped(isFreed: boolean, code: number): void {
    if (isFreed) this.#forgetHandle();
    this.#notify((handler) => handler.onStopSending(code));
  }

  /** @internal Called by the engine when the peer has acknowledged the whole message. */
  receiveSent(isFreed: boolean): void {
    if (isFreed) this.#forgetHandle();
    this.#notify((handler) => handler.onSent?.());
  }

  /** @internal Called by the engine when fewer bytes than the high-water mark are unsent. */
  receiveDrain(): void {
    this.#notify((handler) => handler.onDrain());
  }

  /** @internal Called by the engine when it has freed the stream. */
  receiveFreed(): void {
    this.#forgetHandle();
  }

  /** @internal Called by the engine when the session has ended before the stream. */
  receiveClosed(error: QuicError | undefined): void {
    this.#forgetHandle();
    if (this.#paused) this.#queued = undefined;
    this.#receiving = false;
    if (this.#handler !== undefined && !this.#holds) this.#handler.onClosed(error);
    else this.#hold((handler) => handler.onClosed(error));
    this.#peekIsOver();
  }

  #notify(event: (handler: StreamHandler) => void): void {
    if (this.#handler !== undefined) event(this.#handler);
    else this.#hold(event);
  }
}

function end(handler: StreamHandler, trailers: HeaderPairs | undefined): void {
  try {
    if (trailers !== undefined) handler.onTrailers?.(trailers);
  } finally {
    handler.onEnd();
  }
}

function deliver(handler: StreamHandler, event: QueuedEvent): void {
  if (event instanceof Uint8Array) handler.onData(event);
  else event(handler);
}
