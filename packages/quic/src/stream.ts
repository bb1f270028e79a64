import type { Engine } from "./engine.js";
import { QuicError } from "./errors.js";
import { handleIndex } from "./handles.js";
import { FLAG_ABOVE_HIGH_WATER, FLAG_FREED } from "./native-layout.js";
import type { HeaderPairs } from "./http-request.js";
import { StreamWebApi } from "./stream-web-api.js";

/** Receives the events of one stream. `onEnd` or `onReset` is the last event of the receiving side. */
export interface StreamHandler {
  /**
   * Bytes arrived, in order. The chunk is a view of a larger buffer. The handler may keep it, and it is never written
   * again, unless the handler sets `borrows`.
   */
  onData(chunk: Uint8Array): void;
  /**
   * Set to true if the handler does not use a chunk after `onData` has returned. Its memory is then reused and causes
   * no garbage. Default false.
   */
  readonly borrows?: boolean;
  /** The fields after the body of an HTTP message, if there are any; `onEnd` follows. */
  onTrailers?(trailers: HeaderPairs): void;
  /** The peer sent FIN. */
  onEnd(): void;
  /** The peer reset its sending side; code 0 to 2^32-1 (RFC 9000 §19.4). */
  onReset(code: number): void;
  /** The peer asked this side to stop sending (RFC 9000 §19.5); writes are dropped from now on. */
  onStopSending(code: number): void;
  /** The peer acknowledged the whole message. Only for streams of HTTP requests. */
  onSent?(): void;
  /** Fewer bytes than the high-water mark are pending. Called once per `write` that returned false. */
  onDrain(): void;
  /** The session ended before the stream did. `error` is undefined after a clean close. The last call. */
  onClosed(error: Error | undefined): void;
}

/** An event kept until a handler is attached: bytes, or a function that calls the handler. */
type QueuedEvent = Uint8Array | ((handler: StreamHandler) => void);

/** A callback that sees the first bytes before the handler. */
interface Peek {
  readonly inspect: (bytes: Uint8Array) => boolean;
  readonly onOver: () => void;
}

/** A QUIC stream. Every method is synchronous, and does nothing after the end of the stream. */
export class QuicStream {
  readonly #engine: Engine;
  /** -1 once the engine has freed the stream. */
  #handle: number;
  #id: number | undefined;
  #handler: StreamHandler | undefined;
  /** True if events go straight to the handler: it is attached, not paused, and nothing is held. */
  #flowing = false;
  #paused = false;
  #receiving = true;
  #enginePaused = false;
  /** Events kept until they can be delivered, or undefined if there never were any. */
  #queued: QueuedEvent[] | undefined;
  #peek: Peek | undefined;
  #webApi: StreamWebApi | undefined;

  /**
   * True if the peer opened the stream before its handshake was complete (0-RTT). An attacker who recorded the data
   * could send it again, to this or another process, so do nothing with it that must not happen twice. See
   * docs/tuning.md.
   */
  readonly early: boolean;

  /** @internal */
  constructor(engine: Engine, handle: number, early: boolean) {
    this.early = early;
    this.#engine = engine;
    this.#handle = handle;
  }

  /**
   * QUIC stream id (RFC 9000 §2.1), or -1 while the stream waits for the peer's stream limit. It is read on first use,
   * so a stream that ended earlier also has -1.
   */
  get id(): number {
    if (this.#id === undefined && this.#handle >= 0) {
      const id = this.#engine.native.streamId(this.#handle);
      if (id >= 0) this.#id = id;
    }
    return this.#id ?? -1;
  }

  /**
   * Starts delivery to `handler`, beginning with everything that has already arrived. Can be called once per stream.
   */
  attach(handler: StreamHandler): void {
    if (this.#handler !== undefined) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_ATTACHED", message: "the stream already has a handler" });
    }
    this.#handler = handler;
    if (!this.#paused) this.#flow();
  }

  /**
   * Looks at the first bytes before `attach`: calls `inspect` with the bytes that have arrived, and again with more, until
   * it returns false. Then flow control holds the peer back until a handler is attached, which receives all bytes.
   * Calls `onOver` if the stream ends first.
   */
  peek(inspect: (bytes: Uint8Array) => boolean, onOver: () => void): void {
    this.#peek = { inspect, onOver };
    this.#joinHeld();
    if (this.#queued?.[0] !== undefined) this.#inspectFirst();
  }

  /**
   * Sends `bytes`, and FIN after them when `end` is true. The bytes are copied before it returns. Returns false above
   * the high-water mark; `onDrain` follows once.
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

  /** @internal Starts the response to a plain HTTP request. */
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

  /** Number of written bytes that congestion or flow control has not let the connection take yet. */
  pendingBytes(): number {
    return this.#handle < 0 ? 0 : this.#engine.native.pendingBytes(this.#handle);
  }

  /** Abandons the sending side: RESET_STREAM with `code`, 0 to 2^32-1 (RFC 9000 §19.4). */
  reset(code: number): void {
    if (this.#handle < 0) return;
    this.#engine.kick();
    if ((this.#engine.native.reset(this.#handle, code) & FLAG_FREED) !== 0) this.#release();
  }

  /**
   * Sets the priority of the stream. Among streams with data to send, those with a higher priority go first; streams of
   * one priority take turns. Default 0; integers from -2^31 to 2^31-1, other numbers are rounded and clamped.
   */
  setPriority(priority: number): void {
    if (this.#handle < 0) return;
    const clamped = Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.trunc(priority) || 0));
    this.#engine.native.setPriority(this.#handle, clamped);
  }

  /** Asks the peer to stop sending: STOP_SENDING with `code` (RFC 9000 §19.5). Nothing more is delivered. */
  stopSending(code: number): void {
    if (!this.#receiving) return;
    this.#receiving = false;
    this.#queued = undefined;
    if (this.#handle < 0) return;
    this.#engine.kick();
    if ((this.#engine.native.stopSending(this.#handle, code) & FLAG_FREED) !== 0) this.#release();
  }

  /** Stops delivery, so that flow control stalls the peer (RFC 9000 §4.1). */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#flowing = false;
    this.#pauseEngine(true);
  }

  /** Resumes delivery. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#handler !== undefined) this.#flow();
    else if (!this.#queued?.some((event) => event instanceof Uint8Array)) this.#pauseEngine(false);
  }

  /** The receiving side as a byte stream. Use it instead of a handler. */
  get readable(): ReadableStream<Uint8Array> {
    return this.#web().readable;
  }

  /**
   * The sending side. Use it instead of a handler. `abort` resets the stream with the error's `streamErrorCode`, or 0.
   */
  get writable(): WritableStream<Uint8Array> {
    return this.#web().writable;
  }

  /** @internal Ends a stream that nothing accepts. */
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

  /** Delivers held events. If the handler throws, later events are not lost. */
  #deliverHeld(): void {
    const handler = this.#handler;
    if (handler === undefined || this.#paused) return;
    try {
      while (this.#holds && !this.#paused) deliver(handler, this.#queued?.shift() as QueuedEvent);
    } finally {
      if (!this.#paused && !this.#flowing) this.#flow();
    }
  }

  /** Frees the stream after a call from JavaScript ended it. */
  #release(): void {
    this.#engine.releaseStream(handleIndex(this.#handle));
    this.#handle = -1;
  }

  /** Forgets the handle after the engine ended the stream. */
  #forgetHandle(): void {
    if (this.#handle < 0) return;
    this.#engine.streams[handleIndex(this.#handle)] = undefined;
    this.#handle = -1;
  }

  /** @internal */
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

  /** Joins held pieces into one, because `peek` looks at all bytes. */
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

  /** @internal */
  receiveEnd(isFreed: boolean, trailers: HeaderPairs | undefined): void {
    if (isFreed) this.#forgetHandle();
    if (!this.#receiving) return;
    this.#receiving = false;
    if (this.#flowing) end(this.#handler as StreamHandler, trailers);
    else this.#hold((handler) => end(handler, trailers));
    this.#peekIsOver();
  }

  /** @internal */
  receiveReset(isFreed: boolean, code: number): void {
    if (isFreed) this.#forgetHandle();
    if (!this.#receiving) return;
    this.#receiving = false;
    if (this.#flowing) (this.#handler as StreamHandler).onReset(code);
    else this.#hold((handler) => handler.onReset(code));
    this.#peekIsOver();
  }

  /** @internal Sending-side events: pausing does not delay them. */
  receiveStopped(isFreed: boolean, code: number): void {
    if (isFreed) this.#forgetHandle();
    this.#notify((handler) => handler.onStopSending(code));
  }

  /** @internal */
  receiveSent(isFreed: boolean): void {
    if (isFreed) this.#forgetHandle();
    this.#notify((handler) => handler.onSent?.());
  }

  /** @internal */
  receiveDrain(): void {
    this.#notify((handler) => handler.onDrain());
  }

  /** @internal */
  receiveFreed(): void {
    this.#forgetHandle();
  }

  /** @internal */
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
