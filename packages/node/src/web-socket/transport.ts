import { randomFillSync } from "node:crypto";
import type { Duplex } from "node:stream";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import {
  byteStreamTransport,
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  type DirectSession,
  type Role,
} from "@quicrpc/core/transport";
import { exporterOf, type NodeBytes, soleReader } from "../stream/node-stream.js";
import {
  CloseCode,
  FrameError,
  WebSocketFrameReader,
  headBytes,
  KEY_BYTES,
  MAX_HEAD_BYTES,
  Opcode,
  putFrame,
} from "./frames.js";
import type { MaskKey } from "./mask.js";

/** Maximum size of a received message in bytes. A longer one ends the session (docs/protocol.md §8). */
const MAX_RECEIVED_MESSAGE = 1024 * 1024;

/**
 * Maximum size of a sent message in bytes. Many peers store a whole message before they process it. A message with its
 * header fits into a buffer of 256 KiB.
 */
const MAX_SENT_MESSAGE = 256 * 1024 - MAX_HEAD_BYTES;

/**
 * Creates a transport session over a WebSocket whose handshake is complete. Reads and writes binary frames on the
 * socket itself (RFC 6455 §5), and delivers the pieces of messages as they arrive.
 */
export function webSocketOn(socket: Duplex, role: Role, options: ByteStreamOptions): DirectSession {
  const closeTimeoutMs = options.closeTimeoutMs ?? DEFAULT_LIMITS.maxCloseMs;
  const bytes = new WebSocketByteStream(socket, role, closeTimeoutMs);
  return byteStreamTransport(bytes, role, { ...exporterOf(socket), ...options });
}

class WebSocketByteStream implements ByteStream, ByteStreamHandler {
  private readonly bytes: NodeBytes;
  private readonly role: Role;
  private readonly closeTimeoutMs: number;
  private readonly reader: WebSocketFrameReader;
  private handler: ByteStreamHandler | undefined = undefined;
  /** True if the socket's send buffer is full, until `onDrain`. */
  private full = false;
  /** Payload of the last unanswered ping, stored until the pong can be sent. */
  private ping: Uint8Array | undefined = undefined;
  /** True if this side has sent its close frame. */
  private hasEnded = false;
  /**
   * Reason why the peer's side ended: an error, such as a protocol violation, or `undefined` as `error` after a normal
   * close.
   */
  private reason: { error: Error | undefined } | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(socket: Duplex, role: Role, closeTimeoutMs: number) {
    this.bytes = soleReader(socket);
    this.role = role;
    this.closeTimeoutMs = closeTimeoutMs;
    this.reader = new WebSocketFrameReader(
      {
        onPiece: (piece) => this.handler?.onData(piece),
        onPing: (payload) => this.onPing(payload),
        onClose: (code, reason) => this.onCloseFrame(code, reason),
      },
      role === "server",
      MAX_RECEIVED_MESSAGE,
    );
  }

  get borrows(): boolean {
    return this.handler?.borrows === true;
  }

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
    this.bytes.attach(this);
  }

  write(bytes: Uint8Array): boolean {
    if (this.hasEnded) return true;
    for (let at = 0; at < bytes.length; at += MAX_SENT_MESSAGE)
      this.frame(Opcode.binary, bytes.subarray(at, at + MAX_SENT_MESSAGE));
    return !this.full;
  }

  pendingBytes(): number {
    return this.bytes.pendingBytes();
  }

  /**
   * Sends a close frame. The peer first sends everything that it has written, and then answers with its own close
   * frame, because a WebSocket cannot be half-closed.
   */
  end(): void {
    this.close(CloseCode.normal, "");
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.bytes.destroy();
  }

  pause(): void {
    this.reader.stopped = true;
    this.bytes.pause();
  }

  resume(): void {
    this.reader.stopped = false;
    this.bytes.resume();
  }

  onData(chunk: Uint8Array): void {
    try {
      const read = this.reader.read(chunk);
      if (read < chunk.length) this.bytes.unread(chunk.subarray(read));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.reason = { error: new Error(`the peer broke the WebSocket protocol: ${error.message}`) };
      this.close(error.code, error.message);
      this.detach();
    }
  }

  onDrain(): void {
    const { ping } = this;
    this.full = false;
    this.ping = undefined;
    if (ping !== undefined) this.onPing(ping);
    this.handler?.onDrain();
  }

  onEnd(): void {
    if (this.reason === undefined) this.onClosed(undefined);
  }

  onClosed(error: Error | undefined): void {
    clearTimeout(this.timer);
    this.reason ??= { error: error ?? closedWith(CloseCode.abnormal, "") };
    this.handler?.onClosed(this.reason.error);
    this.handler = undefined;
  }

  /**
   * Answers a ping. If several pings arrive while nothing can be sent, only the last one is answered (RFC 6455 §5.5.3).
   */
  private onPing(payload: Uint8Array): void {
    if (this.hasEnded) return;
    if (this.full) this.ping = payload;
    else this.frame(Opcode.pong, payload);
  }

  private onCloseFrame(code: number, reason: string): void {
    this.reason = { error: code === CloseCode.normal ? undefined : closedWith(code, reason) };
    this.close(code === CloseCode.none ? CloseCode.normal : code, "");
    this.detach();
  }

  private close(code: number, reason: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const text = Buffer.from(reason);
    this.frame(Opcode.close, Buffer.concat([Uint8Array.of(code >>> 8, code & 0xff), text]));
  }

  /**
   * Ends the connection, after both sides have sent a close frame or if this side need not wait for the peer. The
   * server ends the connection first (RFC 6455 §7.1.1).
   */
  private detach(): void {
    if (this.role === "server") this.bytes.end();
    this.timer ??= setTimeout(() => this.bytes.destroy(), this.closeTimeoutMs);
  }

  private frame(opcode: number, payload: Uint8Array): void {
    const key = this.role === "client" ? nextKey() : undefined;
    const length = headBytes(payload.length, key !== undefined) + payload.length;
    this.full = !this.bytes.writeFrom(length, (target) => putFrame(target, opcode, payload, key));
  }
}

function closedWith(code: number, reason: string): Error {
  return new Error(`the WebSocket closed with code ${code}${reason === "" ? "" : `: ${reason}`}`);
}

/** Random bytes for mask keys. Bytes before the index `keysAt` have been used. */
const keys: Uint8Array = new Uint8Array(8192);
let keysAt = keys.length;

/** Returns a mask key that no peer can predict (RFC 6455 §5.3). It is only valid until the next call. */
function nextKey(): MaskKey {
  if (keysAt === keys.length) {
    randomFillSync(keys);
    keysAt = 0;
  }
  keysAt += KEY_BYTES;
  return keys.subarray(keysAt - KEY_BYTES, keysAt);
}
