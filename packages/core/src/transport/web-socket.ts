import { asError } from "../errors.js";
import type { UnsharedBytes } from "../platform-types.js";
import {
  byteStreamTransport,
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  MAX_HELD_BYTES,
  type Role,
} from "./byte-stream.js";
import { ByteQueue } from "./byte-queue.js";
import type { DirectSession } from "./session.js";

/** The part of the standard `WebSocket` that the transport uses (WebSockets §3). */
export interface WebSocketLike {
  binaryType: string;
  /** State of the connection: 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number;
  /** Number of bytes passed to `send` that are not sent yet. Undefined in React Native. */
  readonly bufferedAmount?: number;
  /** Sends one message. Sockets of the ws package call `onSent` when the data has been sent. */
  send(data: UnsharedBytes, onSent?: () => void): void;
  /** Stops reading until `resume`. Only sockets of the ws package have both methods. */
  pause?(): void;
  resume?(): void;
  /** Closes the connection without the closing handshake. Only sockets of the ws package have this method. */
  terminate?(): void;
  close(code?: number, reason?: string): void;
  addEventListener(
    type: "open" | "close" | "error",
    listener: (event: { code?: number; reason?: string }) => void,
  ): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
}

/**
 * Maximum bytes of a message that this side sends. The receiver must have a whole message in memory before it can read
 * it.
 */
const MAX_MESSAGE = 256 * 1024;
/** Number of unsent bytes above which `write` returns false. */
const HIGH_WATER = 256 * 1024;
/** Milliseconds between checks of a full send buffer. The standard has no event for a buffer that becomes empty. */
const LOOK_EVERY_MS = 10;
const OPEN = 1;
const CLOSED = 3;
const NORMAL_CLOSURE = 1000;
const UNSUPPORTED_DATA = 1003;

/**
 * Creates a transport over a WebSocket that is open or connecting. It must have been created with the subprotocol
 * `WEBSOCKET_PROTOCOL`. A browser's WebSocket cannot be paused; there, only the credit of each message stream limits
 * the peer.
 */
export function webSocketTransport(socket: WebSocketLike, role: Role, options?: ByteStreamOptions): DirectSession {
  return byteStreamTransport(new SocketByteStream(socket, options?.maxHeldBytes), role, options);
}

class SocketByteStream implements ByteStream {
  readonly #socket: WebSocketLike;
  #handler: ByteStreamHandler | undefined = undefined;
  /** Messages written before the socket was open; undefined once it is open. */
  #early: UnsharedBytes[] | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Data that arrived before a handler was attached, or while delivery is paused. */
  readonly #held: ByteQueue;
  #paused = false;
  #full = false;
  #ending = false;
  #over: { error: Error | undefined } | undefined = undefined;

  readonly #onSent = (): void => this.#look();

  constructor(socket: WebSocketLike, maxHeldBytes: number = MAX_HELD_BYTES) {
    this.#socket = socket;
    this.#held = new ByteQueue(maxHeldBytes);
    socket.binaryType = "arraybuffer";
    this.#early = socket.readyState < OPEN ? [] : undefined;
    // Reading starts with `attach`, because there is no receiver before that.
    if (this.#early === undefined) socket.pause?.();
    socket.addEventListener("open", () => this.#open());
    socket.addEventListener("message", ({ data }) => this.#onMessage(data));
    socket.addEventListener("close", ({ code, reason }) => this.#closed(code, reason));
    // The close event, which always follows an error event, reports the reason.
    socket.addEventListener("error", () => {});
  }

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    queueMicrotask(() => {
      if (!this.#paused) this.resume();
      if (this.#over !== undefined) handler.onClosed(this.#over.error);
      else if (this.#socket.readyState === CLOSED) this.#closed(undefined, undefined);
    });
  }

  write(bytes: Uint8Array): boolean {
    if (this.#ending || this.#over !== undefined) return true;
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE) {
      const message = bytes.slice(at, at + MAX_MESSAGE);
      if (this.#early === undefined) this.#socket.send(message, this.#onSent);
      else this.#early.push(message);
    }
    if (this.pendingBytes() <= HIGH_WATER) return true;
    this.#full = true;
    this.#lookLater();
    return false;
  }

  pendingBytes(): number {
    return this.#socket.bufferedAmount ?? 0;
  }

  /** Starts the closing handshake, which follows the sent data: a WebSocket cannot end one direction only. */
  end(): void {
    this.#ending = true;
    if (this.#early === undefined) this.#socket.close(NORMAL_CLOSURE);
  }

  destroy(): void {
    clearTimeout(this.#timer);
    this.#held.clear();
    // `terminate` is preferred, because a closing handshake would wait for a peer that may never answer.
    if (this.#socket.terminate === undefined) this.#socket.close(NORMAL_CLOSURE);
    else this.#socket.terminate();
  }

  pause(): void {
    this.#paused = true;
    if (this.#early === undefined) this.#socket.pause?.();
  }

  resume(): void {
    this.#paused = false;
    this.#deliver();
    // `resume` of a ws socket throws if the socket was closed before it was open.
    if (!this.#paused && this.#early === undefined) this.#socket.resume?.();
  }

  #open(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const bytes of early) this.#socket.send(bytes);
    if (this.#handler === undefined || this.#paused) this.#socket.pause?.();
    if (this.#ending) this.#socket.close(NORMAL_CLOSURE);
  }

  #onMessage(data: unknown): void {
    if (!(data instanceof ArrayBuffer)) {
      this.#socket.close(UNSUPPORTED_DATA, "messages are binary");
      return;
    }
    const bytes = new Uint8Array(data);
    if (this.#paused || this.#handler === undefined || this.#held.bytes > 0) this.#hold(bytes);
    else this.#handler.onData(bytes);
  }

  #hold(bytes: Uint8Array): void {
    if (this.#over !== undefined) return;
    try {
      this.#held.push(bytes);
    } catch (error) {
      this.#over = { error: asError(error) };
      this.destroy();
      this.#handler?.onClosed(this.#over.error);
    }
  }

  #deliver(): void {
    while (!this.#paused && this.#handler !== undefined) {
      const bytes = this.#held.shift();
      if (bytes === undefined) return;
      this.#handler.onData(bytes);
    }
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look();
      if (this.#full && this.#over === undefined) this.#lookLater();
    }, LOOK_EVERY_MS);
  }

  #look(): void {
    if (!this.#full || this.#over !== undefined || this.pendingBytes() > HIGH_WATER) return;
    this.#full = false;
    this.#handler?.onDrain();
  }

  #closed(code: number | undefined, reason: string | undefined): void {
    if (this.#over !== undefined) return;
    clearTimeout(this.#timer);
    const why = reason === undefined || reason === "" ? "" : `: ${reason}`;
    const error =
      code === NORMAL_CLOSURE ? undefined : new Error(`the WebSocket closed with code ${code ?? 1006}${why}`);
    this.#over = { error };
    this.#handler?.onClosed(error);
  }
}
