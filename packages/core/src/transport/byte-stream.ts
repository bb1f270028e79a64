import { closeError } from "./close-codes.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { closeFrame } from "../wire/close-frame.js";
import { joined } from "./joined.js";
import type {
  CloseInfo,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
  KeyingMaterialExporter,
  SoleStream,
} from "./session.js";
import * as ResetCode from "./close-codes.js";
import { codeNumber } from "../codes.js";

/** A duplex, ordered and reliable stream of bytes: a socket, a pipe, a port. Methods after its end do nothing. */
export interface ByteStream {
  /**
   * Starts delivery to `handler`, beginning with the bytes that have already arrived. Delivers nothing before it
   * returns. Called once.
   */
  attach(handler: ByteStreamHandler): void;
  /**
   * Sends `bytes`, which are copied or sent before it returns. Returns false above the high-water mark; `onDrain` follows
   * once below it again.
   */
  write(bytes: Uint8Array): boolean;
  /** Written bytes that wait to be sent. */
  pendingBytes(): number;
  /** Ends the sending side after the written data. */
  end(): void;
  /** Releases the stream at once, in both directions. */
  destroy(): void;
  /** Stops delivery and, if the transport supports it, holds the peer back. */
  pause(): void;
  resume(): void;
}

/** Receives the events of a byte stream. */
export interface ByteStreamHandler {
  /** Bytes in order; the chunk belongs to the handler and is never written again, unless it `borrows`. */
  onData(chunk: Uint8Array): void;
  /**
   * True if the handler does not use a chunk after `onData` has returned, so that its memory can be reused for the next
   * one. It may change between chunks.
   */
  readonly borrows?: boolean;
  onDrain(): void;
  /** The peer ended its sending side. */
  onEnd(): void;
  /** The stream is over. The last call, and the only one that may come without `onEnd` before it. */
  onClosed(error: Error | undefined): void;
}

/** The end of a byte stream that a session is: the side that dialled is the client. Both sides may call and serve. */
export type Role = "client" | "server";

/** Options of a transport over a byte stream. */
export interface ByteStreamOptions {
  /** Milliseconds that a close waits for the peer to end its side. Default: `DEFAULT_LIMITS.maxCloseMs`. */
  readonly closeTimeoutMs?: number;
  /**
   * Maximum bytes that have arrived and are not yet read. It applies to transports that cannot hold the peer back: a
   * `MessagePort`, a browser's WebSocket. If the peer sends more, its session is lost. Default: 40 MiB, the sum of
   * `DEFAULT_LIMITS.maxSessionBytes` and two frames of the largest size.
   */
  readonly maxHeldBytes?: number;
  /** Called once the peer has greeted, and so has shown that it speaks this protocol. Default: none. */
  readonly onGreeted?: () => void;
  /** Keying material of the underlying TLS connection, to which a client's proof can be bound. Default: none. */
  readonly exportKeyingMaterial?: KeyingMaterialExporter["exportKeyingMaterial"];
}

/** Default of `maxHeldBytes`: more than the memory that a peer's own session lets wait. */
export const MAX_HELD_BYTES: number = DEFAULT_LIMITS.maxSessionBytes + 2 * DEFAULT_LIMITS.maxFrameBytes;

/** A transport over one byte stream, for one session: all calls, of both peers, share one lane (docs/protocol.md §8). */
export function byteStreamTransport(stream: ByteStream, role: Role, options: ByteStreamOptions = {}): DirectSession {
  return new ByteStreamSession(stream, role, options);
}

class ByteStreamSession implements DirectSession, ByteStreamHandler {
  readonly sole: SoleStream;
  readonly exportKeyingMaterial?: NonNullable<KeyingMaterialExporter["exportKeyingMaterial"]>;
  private readonly bytes: ByteStream;
  private readonly closeTimeoutMs: number;
  private readonly onGreeted: (() => void) | undefined;
  private handler: DirectSessionHandler | undefined = undefined;
  private streamHandler: DirectStreamHandler | undefined = undefined;
  /** How the session ends, from the moment that is known. */
  private ending: { info: CloseInfo; error: Error | undefined } | undefined = undefined;
  private told = false;
  private attached = false;
  /** Bytes that were read before there was a handler, and are still to be delivered. */
  private held: Uint8Array | undefined = undefined;
  private peek: { look: (bytes: Uint8Array) => boolean; onOver: () => void } | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(bytes: ByteStream, role: Role, options: ByteStreamOptions) {
    this.bytes = bytes;
    this.closeTimeoutMs = options.closeTimeoutMs ?? DEFAULT_LIMITS.maxCloseMs;
    this.onGreeted = options.onGreeted;
    if (options.exportKeyingMaterial !== undefined) this.exportKeyingMaterial = options.exportKeyingMaterial;
    this.sole = this.soleStream(role === "client");
  }

  attach(handler: DirectSessionHandler): void {
    this.handler = handler;
    this.start();
    if (this.told) handler.onClosed(this.ending?.info ?? {}, this.ending?.error);
  }

  openStream(): DirectStream {
    throw new Error("a byte stream carries one lane and no other streams");
  }

  /** Sends the reason for the end of the session, and waits for the peer's end before the owner is notified. */
  close({ closeCode = 0, reason = "" }: CloseInfo = {}): void {
    if (this.ending !== undefined) return;
    this.ending = { info: { closeCode, reason }, error: closeError({ closeCode, reason }) };
    this.streamHandler?.onClosed(this.ending.error);
    this.bytes.write(closeFrame(closeCode, reason));
    this.bytes.end();
    // The peer's end comes after its data, so the data must be read and dropped.
    this.bytes.resume();
    this.timer = setTimeout(() => this.over(), this.closeTimeoutMs);
    this.start();
  }

  /** Bytes that are held are copies. */
  get borrows(): boolean {
    return this.held !== undefined || this.streamHandler === undefined || this.streamHandler.borrows === true;
  }

  onData(chunk: Uint8Array): void {
    if (this.ending !== undefined) return;
    if (this.streamHandler !== undefined && this.held === undefined) this.streamHandler.onData(chunk);
    else this.hold(chunk);
  }

  /** Buffers data that arrives before the handler, and passes it to `look` if there is one. */
  private hold(chunk: Uint8Array): void {
    this.held = this.held === undefined ? chunk.slice() : joined(this.held, chunk);
    if (this.peek === undefined || this.peek.look(this.held)) return;
    this.peek = undefined;
    this.bytes.pause();
  }

  /** Delivers the buffered data, and new data from then on. */
  private deliverHeld(): void {
    // First, because the handler may pause the stream. Bytes that this delivers at once are buffered behind the others.
    this.bytes.resume();
    const { held } = this;
    this.held = undefined;
    if (held !== undefined) this.onData(held);
  }

  onDrain(): void {
    if (this.ending === undefined) this.streamHandler?.onDrain();
  }

  onEnd(): void {
    if (this.ending === undefined) this.lose(new Error("the peer ended the byte stream without a close"));
    else this.over();
  }

  onClosed(error: Error | undefined): void {
    if (this.ending === undefined) this.lose(error ?? new Error("the byte stream was closed"));
    else this.over();
  }

  private start(): void {
    if (this.attached) return;
    this.attached = true;
    this.bytes.attach(this);
  }

  private soleStream(opener: boolean): SoleStream {
    return {
      opener,
      attach: (handler) => {
        this.streamHandler = handler;
        if (this.held !== undefined) queueMicrotask(() => this.deliverHeld());
      },
      peek: (look, onOver) => {
        if (this.told) {
          onOver();
          return;
        }
        this.peek = { look, onOver };
        this.start();
        // Bytes left by an earlier `peek`, which has paused the stream.
        if (this.held === undefined) return;
        if (look(this.held)) this.bytes.resume();
        else this.peek = undefined;
      },
      write: (bytes) => this.ending !== undefined || this.bytes.write(bytes),
      pendingBytes: () => this.bytes.pendingBytes(),
      reset: (code) => this.close({ closeCode: code, reason: closeReason(code) }),
      stopSending: (code) => this.close({ closeCode: code, reason: closeReason(code) }),
      pause: () => this.ending === undefined && this.bytes.pause(),
      resume: () => this.bytes.resume(),
      greeted: () => this.onGreeted?.(),
      closedByPeer: (info) => this.closedByPeer(info),
      lose: (error) => this.lose(error),
    };
  }

  private closedByPeer(info: CloseInfo): void {
    if (this.ending !== undefined) return;
    this.ending = { info, error: closeError(info) };
    this.streamHandler?.onClosed(this.ending.error);
    this.bytes.end();
    this.timer = setTimeout(() => this.bytes.destroy(), this.closeTimeoutMs);
    this.tell();
  }

  private lose(error: Error): void {
    if (this.ending !== undefined) return;
    this.ending = { info: {}, error };
    this.streamHandler?.onClosed(error);
    this.over();
  }

  private over(): void {
    clearTimeout(this.timer);
    this.bytes.destroy();
    this.tell();
  }

  private tell(): void {
    if (this.told || this.ending === undefined) return;
    this.told = true;
    this.peek?.onOver();
    this.peek = undefined;
    this.handler?.onClosed(this.ending.info, this.ending.error);
  }
}

/** Returns the reason for closing a session over a byte stream in cases in which other sessions would only reset one stream. */
function closeReason(code: number): string {
  if (code === ResetCode.ProtocolError) return "protocol error";
  if (code === ResetCode.UnknownKind) return "the peer does not speak quicrpc";
  return code === codeNumber("resource_exhausted") ? "the peer does not read" : "";
}
