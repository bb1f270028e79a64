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

/**
 * A duplex, ordered and reliable stream of bytes, such as a socket, a pipe or a port. Calling a method after the stream
 * has ended has no effect.
 */
export interface ByteStream {
  /**
   * Starts delivery to `handler`, beginning with the bytes that have already arrived. Does not call the handler before
   * it returns. Called once.
   */
  attach(handler: ByteStreamHandler): void;
  /**
   * Sends `bytes`. They are copied or sent before it returns. Returns false if the amount of unsent data exceeds the
   * high-water mark; the handler's `onDrain` is called when it no longer does.
   */
  write(bytes: Uint8Array): boolean;
  /** Returns the number of written bytes that are not sent yet. */
  pendingBytes(): number;
  /** Ends the sending side after the written data has been sent. */
  end(): void;
  /** Closes the stream at once, in both directions. */
  destroy(): void;
  /** Stops delivery and, if the transport supports backpressure, stops the peer from sending. */
  pause(): void;
  resume(): void;
}

/** Receives the events of a byte stream. */
export interface ByteStreamHandler {
  /** Called with received bytes, in order. The handler may keep the chunk, unless its `borrows` is true. */
  onData(chunk: Uint8Array): void;
  /**
   * True if the handler does not use a chunk after `onData` has returned, so that the stream can reuse its memory. The
   * value may change between chunks.
   */
  readonly borrows?: boolean;
  onDrain(): void;
  /** Called when the peer has ended its sending side. */
  onEnd(): void;
  /**
   * Called once, as the last event, when both sides of the stream have ended or it has failed. `error` is the failure.
   */
  onClosed(error: Error | undefined): void;
}

/**
 * Which side of a byte stream this process is: the client opened the connection. Both sides may make and serve calls.
 */
export type Role = "client" | "server";

/** Options of a transport over a byte stream. */
export interface ByteStreamOptions {
  /**
   * Milliseconds that closing a session waits for the peer to end its side of the stream. Default:
   * `DEFAULT_LIMITS.maxCloseMs`.
   */
  readonly closeTimeoutMs?: number;
  /**
   * Maximum bytes that have arrived and are not read yet, for transports without backpressure: a `MessagePort` and a
   * browser's WebSocket. If the peer sends more, its session is lost. Default: 40 MiB, which is
   * `DEFAULT_LIMITS.maxSessionBytes` plus two frames of the maximum size.
   */
  readonly maxHeldBytes?: number;
  /** Called when the peer's first frame shows that it speaks this protocol. Default: none. */
  readonly onGreeted?: () => void;
  /**
   * Exports keying material of the underlying TLS connection, to which a client's key proof can be bound. Default:
   * none.
   */
  readonly exportKeyingMaterial?: KeyingMaterialExporter["exportKeyingMaterial"];
}

/** Default of `maxHeldBytes`, in bytes: more than a peer's own session allows to be waiting. */
export const MAX_HELD_BYTES: number = DEFAULT_LIMITS.maxSessionBytes + 2 * DEFAULT_LIMITS.maxFrameBytes;

/**
 * Creates a transport for one session over a byte stream. All calls, of both peers, share one lane (docs/protocol.md
 * §8).
 */
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
  /** How the session ends; undefined until this side or the peer has closed it, or it is lost. */
  private ending: { info: CloseInfo; error: Error | undefined } | undefined = undefined;
  private told = false;
  private attached = false;
  /** Bytes that arrived before a handler was attached and are not delivered yet. */
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

  /**
   * Sends the reason for closing, ends this side, and reports the end to the handler when the peer has ended its side.
   */
  close({ closeCode = 0, reason = "" }: CloseInfo = {}): void {
    if (this.ending !== undefined) return;
    this.ending = { info: { closeCode, reason }, error: closeError({ closeCode, reason }) };
    this.streamHandler?.onClosed(this.ending.error);
    this.bytes.write(closeFrame(closeCode, reason));
    this.bytes.end();
    // The peer ends its side after its data, so that data must be read and dropped.
    this.bytes.resume();
    this.timer = setTimeout(() => this.over(), this.closeTimeoutMs);
    this.start();
  }

  /** True while received bytes are buffered, because the buffer contains copies. */
  get borrows(): boolean {
    return this.held !== undefined || this.streamHandler === undefined || this.streamHandler.borrows === true;
  }

  onData(chunk: Uint8Array): void {
    if (this.ending !== undefined) return;
    if (this.streamHandler !== undefined && this.held === undefined) this.streamHandler.onData(chunk);
    else this.hold(chunk);
  }

  /**
   * Buffers data that arrives before a handler is attached, and passes it to the `look` callback of `peek`, if there is
   * one.
   */
  private hold(chunk: Uint8Array): void {
    this.held = this.held === undefined ? chunk.slice() : joined(this.held, chunk);
    if (this.peek === undefined || this.peek.look(this.held)) return;
    this.peek = undefined;
    this.bytes.pause();
  }

  private deliverHeld(): void {
    // `resume` comes first, because the handler may pause the stream again. Data that it delivers at once is appended
    // to the buffer.
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
        // An earlier `peek` left these bytes and paused the stream.
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

/** Returns the close reason for an error code that other transports would use to reset a single stream. */
function closeReason(code: number): string {
  if (code === ResetCode.ProtocolViolation) return "protocol error";
  if (code === ResetCode.UnknownKind) return "the peer does not speak quicrpc";
  return code === codeNumber("resource_exhausted") ? "the peer does not read" : "";
}
