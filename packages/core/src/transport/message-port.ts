import { asError } from "../errors.js";
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

/**
 * The part of the standard `MessagePort` that the transport uses. A dedicated `Worker` and a worker's global scope have
 * it too.
 */
export interface MessagePortLike {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: "message" | "messageerror" | "close", listener: (event: Event) => void): void;
  start?(): void;
  close?(): void;
}

/** Number of sent bytes that the peer has not read above which `write` returns false. */
const HIGH_WATER = 1024 * 1024;
/** Number of bytes that this side reads before it acknowledges them in a message. */
const ACK_STEP = HIGH_WATER / 4;

/**
 * Creates a transport over a `MessagePort`, to a worker, a frame or another realm (HTML §9.4). Bytes are copied once
 * and then transferred. A port buffers without limit, so the receiver acknowledges the bytes that it has read, and the
 * sender waits for that.
 */
export function messagePortTransport(port: MessagePortLike, role: Role, options?: ByteStreamOptions): DirectSession {
  return byteStreamTransport(new PortByteStream(port, options?.maxHeldBytes), role, options);
}

/**
 * A message on the port: bytes, a number (of the peer's bytes that the sender has read), or null (the end of the
 * sender's data).
 */
type Message = Uint8Array | number | null;

class PortByteStream implements ByteStream {
  private readonly port: MessagePortLike;
  private handler: ByteStreamHandler | undefined = undefined;
  private unacknowledged = 0;
  private drainWanted = false;
  private taken = 0;
  private paused = false;
  /** Data that arrived before a handler was attached, or while delivery is paused. */
  private readonly held: ByteQueue;
  /** True if the peer has ended its side, and that event is delivered after the bytes in `held`. */
  private endHeld = false;
  private sending = true;
  private over = false;

  constructor(port: MessagePortLike, maxHeldBytes: number = MAX_HELD_BYTES) {
    this.port = port;
    this.held = new ByteQueue(maxHeldBytes);
  }

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
    this.port.addEventListener("message", (event) => this.onMessage((event as Event & { data: unknown }).data));
    this.port.addEventListener("messageerror", () => this.closed(new Error("a message could not be read")));
    this.port.addEventListener("close", () => this.closed(undefined));
    this.port.start?.();
  }

  write(bytes: Uint8Array): boolean {
    if (!this.sending) return true;
    const copy = bytes.slice();
    this.port.postMessage(copy, [copy.buffer]);
    this.unacknowledged += bytes.length;
    this.drainWanted = this.unacknowledged > HIGH_WATER;
    return !this.drainWanted;
  }

  pendingBytes(): number {
    return this.unacknowledged;
  }

  end(): void {
    if (!this.sending) return;
    this.sending = false;
    this.post(null);
  }

  destroy(): void {
    if (this.over) return;
    this.end();
    this.over = true;
    this.held.clear();
    this.port.close?.();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    while (!this.paused && !this.over) {
      const bytes = this.held.shift();
      if (bytes !== undefined) {
        this.take(bytes);
        continue;
      }
      if (!this.endHeld) return;
      this.endHeld = false;
      this.handler?.onEnd();
    }
  }

  private post(message: Message): void {
    this.port.postMessage(message, []);
  }

  private onMessage(message: unknown): void {
    if (this.over) return;
    if (typeof message === "number") this.acknowledged(message);
    else if (message === null) this.ended();
    else if (!(message instanceof Uint8Array)) this.closed(new Error("a message that is no bytes"));
    else if (this.paused || this.held.bytes > 0) this.hold(message);
    else this.take(message);
  }

  private hold(bytes: Uint8Array): void {
    try {
      this.held.push(bytes);
    } catch (error) {
      this.closed(asError(error));
    }
  }

  private ended(): void {
    if (this.paused || this.held.bytes > 0) this.endHeld = true;
    else this.handler?.onEnd();
  }

  private take(bytes: Uint8Array): void {
    this.taken += bytes.length;
    if (this.taken >= ACK_STEP) {
      this.post(this.taken);
      this.taken = 0;
    }
    this.handler?.onData(bytes);
  }

  private acknowledged(bytes: number): void {
    if (!(Number.isInteger(bytes) && bytes >= 0 && bytes <= this.unacknowledged)) {
      this.closed(new Error(`the peer took ${bytes} bytes of ${this.unacknowledged}`));
      return;
    }
    this.unacknowledged -= bytes;
    if (!this.drainWanted || this.unacknowledged > HIGH_WATER) return;
    this.drainWanted = false;
    this.handler?.onDrain();
  }

  private closed(error: Error | undefined): void {
    if (this.over) return;
    this.destroy();
    this.handler?.onClosed(error);
  }
}
