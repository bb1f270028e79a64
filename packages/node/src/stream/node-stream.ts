import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { inspect } from "node:util";
import { giveBuffer, takeBuffer } from "@quicrpc/core/internal";
import {
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  byteStreamTransport,
  type DirectSession,
  type Role,
} from "@quicrpc/core/transport";

/** Number of unsent bytes above which `write` returns false. */
const HIGH_WATER = 256 * 1024;

/** Maximum number of bytes that TLS encrypts at once, at most `HIGH_WATER`. */
const MAX_TLS_WRITE = 256 * 1024;

/** Minimum size of copies whose buffers are reused. */
const MIN_REUSED_BYTES = 4096;

/**
 * Milliseconds between a failure of the writing side and the end of the session. The peer can use this time to send a
 * reason on the other pipe.
 */
const LAST_WORDS_MS = 1000;

/**
 * Maximum time in milliseconds for which the end of a paused stream is delayed. The reader may never resume the stream.
 */
const PAUSED_END_MS = 1000;

/** The readable and the writable side of a byte stream in Node. A socket is both. */
export interface NodeStreams {
  readonly readable: Readable;
  readonly writable: Writable;
}

/** Creates a transport session over Node streams: `{ readable: socket, writable: socket }`, or a pair of pipes. */
export function nodeStreamTransport(streams: NodeStreams, role: Role, options?: ByteStreamOptions): DirectSession {
  return byteStreamTransport(new NodeByteStream(streams, false), role, { ...exporterOf(streams.readable), ...options });
}

/** Creates a transport session over a socket. Nothing else may read from the socket. */
export function socketTransport(socket: Socket, role: Role, options?: ByteStreamOptions): DirectSession {
  return byteStreamTransport(soleReader(socket), role, { ...exporterOf(socket), ...options });
}

/**
 * Creates a transport session to a child process over its stdin and stdout, which must be pipes. Nothing else may use
 * the two pipes.
 */
export function childProcessTransport(child: ChildProcess, options?: ByteStreamOptions): DirectSession {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) {
    throw new TypeError('childProcessTransport() requires a child with stdio: ["pipe", "pipe", …]');
  }
  return nodeStreamTransport({ readable: stdout, writable: stdin }, "client", options);
}

/**
 * Creates a transport session over this process's stdin and stdout, for the parent process's `childProcessTransport`.
 * Nothing else may write to stdout; write logs to stderr.
 */
export function stdioTransport(options?: ByteStreamOptions): DirectSession {
  return nodeStreamTransport({ readable: process.stdin, writable: process.stdout }, "server", options);
}

/**
 * Returns a function that exports keying material from a TLS 1.3 socket (RFC 9266), or an empty object for other
 * streams. Older TLS versions are excluded, because two connections could share the same keying material (RFC 9266
 * §4.2).
 */
export function exporterOf(socket: unknown): Pick<ByteStreamOptions, "exportKeyingMaterial"> {
  if (!isTls(socket) || socket.getProtocol() !== "TLSv1.3") return {};
  return {
    exportKeyingMaterial: async (label, context, length) =>
      socket.exportKeyingMaterial(length, Buffer.from(label).toString("latin1"), Buffer.from(context)),
  };
}

/** Returns true for a TLS socket. Checks for a method, so that `node:tls` need not be loaded. */
function isTls(socket: unknown): socket is TLSSocket {
  return typeof (socket as Partial<TLSSocket> | undefined)?.exportKeyingMaterial === "function";
}

/** A Node stream as a `ByteStream`, with methods that avoid copies. */
export interface NodeBytes extends ByteStream {
  /**
   * Same as `write`, but `fill` writes the `length` bytes directly into the given buffer. `fill` must be synchronous.
   */
  writeFrom(length: number, fill: (buffer: Uint8Array) => void): boolean;
  /**
   * Puts the unread end of a chunk back while the chunk is being delivered and reading is paused. The bytes are
   * delivered again later.
   */
  unread(bytes: Uint8Array): void;
}

/** Wraps a duplex stream, usually a socket, that has no other reader. */
export function soleReader(stream: Duplex): NodeBytes {
  return new NodeByteStream({ readable: stream, writable: stream }, true);
}

class NodeByteStream implements NodeBytes {
  private readonly readable: Readable;
  private readonly writable: Writable;
  private handler: ByteStreamHandler | undefined = undefined;
  private drainWanted = false;
  private ended: { error: Error | undefined } | undefined = undefined;
  private paused = false;
  /** Notifications that wait while the stream is paused: the end of the readable side, then its close. */
  private ends: (() => void)[] = [];
  /** The socket, until it is switched to reused memory. Undefined if other code may read the socket. */
  private sole: Socket | undefined;
  /** Splits large writes to a TLS socket. Undefined if the stream is not encrypted. */
  private readonly pieces: TlsPieces | undefined;

  constructor({ readable, writable }: NodeStreams, sole: boolean) {
    this.readable = readable;
    this.writable = writable;
    this.sole = sole && readable instanceof Socket ? readable : undefined;
    this.pieces = isTls(writable) ? new TlsPieces(writable, () => this.drained()) : undefined;
    // Added at once, because an `error` event without a listener would end the process.
    readable.on("error", (error) => this.closed(error));
    readable.on("close", () => this.whenResumed(() => this.closed(undefined)));
    if (!Object.is(readable, writable)) {
      writable.on("error", (error) => this.closedSoon(error));
      writable.on("close", () => this.closedSoon(undefined));
    }
    writable.on("drain", () => this.drained());
  }

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
    this.readable.on("data", (chunk: Buffer) => {
      handler.onData(plain(chunk));
      if (this.sole !== undefined) this.reuseMemory(this.sole, handler);
    });
    this.readable.on("end", () => this.whenResumed(() => handler.onEnd()));
    const { ended } = this;
    if (ended !== undefined) queueMicrotask(() => handler.onClosed(ended.error));
  }

  /** Makes the socket pass its chunks in reused memory from now on, unless the handler needs its own copies. */
  private reuseMemory(socket: Socket, handler: ByteStreamHandler): void {
    if (handler.borrows !== true || socket.push !== Socket.prototype.push) return;
    this.sole = undefined;
    readInto(socket, (bytes) => {
      // Pausing does not stop Node from reading: it reads again after each `push` and `unshift`, until the stream's
      // buffer is full.
      if (socket.isPaused() || socket.readableLength > 0) return socket.push(Buffer.from(bytes));
      handler.onData(handler.borrows === true ? bytes : bytes.slice());
      return true;
    });
  }

  /** Writes a copy of `bytes`, because the caller reuses its buffer. */
  write(bytes: Uint8Array): boolean {
    return this.writeFrom(bytes.length, (buffer) => buffer.set(bytes));
  }

  writeFrom(length: number, fill: (buffer: Uint8Array) => void): boolean {
    if (this.ended !== undefined) return true;
    // An empty write would make TLS continue to read, into the memory of the chunk that is being delivered.
    if ((length > 0 && this.send(length, fill)) || this.pendingBytes() <= HIGH_WATER) return true;
    this.drainWanted = true;
    return false;
  }

  private send(length: number, fill: (buffer: Uint8Array) => void): boolean {
    const { writable } = this;
    const target = this.pieces ?? writable;
    // Only a socket no longer uses the bytes when it calls back. Other streams may have passed the bytes on.
    if (length < MIN_REUSED_BYTES || !(writable instanceof Socket)) {
      const buffer = Buffer.allocUnsafe(length);
      fill(buffer);
      return target.write(buffer);
    }
    const buffer = takeBuffer(length);
    fill(buffer);
    return target.write(buffer.subarray(0, length), (error) => {
      if (!error) giveBuffer(buffer);
    });
  }

  unread(bytes: Uint8Array): void {
    this.readable.unshift(Buffer.from(bytes));
  }

  pendingBytes(): number {
    return this.writable.writableLength + (this.pieces?.waitingBytes ?? 0);
  }

  end(): void {
    if (this.ended === undefined) (this.pieces ?? this.writable).end();
  }

  destroy(): void {
    this.paused = false;
    this.readable.destroy();
    this.writable.destroy();
  }

  /**
   * Returns the value that `console.log` prints for a session. It excludes the socket, because a TLS socket contains
   * its server's private key.
   */
  [inspect.custom](): object {
    return { readable: this.readable.constructor.name, writable: this.writable.constructor.name };
  }

  pause(): void {
    this.paused = true;
    this.readable.pause();
  }

  resume(): void {
    this.paused = false;
    if (this.handler !== undefined) this.readable.resume();
    if (this.ends.length > 0) queueMicrotask(() => this.deliverEnds());
  }

  /**
   * Calls `act` when the stream is not paused. Node may emit the end of a paused stream early, before all bytes are
   * read.
   */
  private whenResumed(act: () => void): void {
    this.ends.push(act);
    if (!this.paused) this.deliverEnds();
    else setTimeout(() => this.resume(), PAUSED_END_MS).unref();
  }

  private deliverEnds(): void {
    while (!this.paused) {
      const act = this.ends.shift();
      if (act === undefined) return;
      act();
    }
  }

  private drained(): void {
    if (!this.drainWanted || (this.pieces?.waitingBytes ?? 0) > 0) return;
    this.drainWanted = false;
    this.handler?.onDrain();
  }

  private closedSoon(error: Error | undefined): void {
    if (this.ended === undefined) setTimeout(() => this.closed(error), LAST_WORDS_MS).unref();
  }

  private closed(error: Error | undefined): void {
    if (this.ended !== undefined) return;
    this.ended = { error };
    this.ends = [];
    this.pieces?.clear();
    this.handler?.onClosed(error);
  }
}

/** Returns a plain `Uint8Array`: `slice` of a Buffer does not copy. */
function plain({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

/** Maximum number of bytes that Node reads from a socket at once. */
const CHUNK_BYTES = 65_536;

/** Buffer that receives the chunks of all sockets, one after another. Created for the first chunk. */
let memory: Uint8Array | undefined;

/** Internal properties of a Node socket, which Node's option `onread` sets. */
interface SocketParts {
  readonly _handle?: { readonly useUserBuffer?: (memory: Uint8Array) => void } | null;
  [key: symbol]: unknown;
}

/**
 * Makes Node read a socket's data into one buffer of this module, and calls `onBytes` with the data instead of emitting
 * `data`. `onBytes` must process the bytes before it returns, because the next chunk of any socket overwrites them. If
 * it returns false, Node stops reading until the stream asks for more, as after a `push` that returned false. `end`,
 * `error`, `close`, `pause` and `resume` work as before.
 *
 * Without this function, each chunk is a new buffer that increases the cost of garbage collection. Node's option
 * `onread` avoids that (https://nodejs.org/api/net.html#socketconnectoptions-connectlistener), but only for sockets
 * that connect, not for sockets that a server accepts. So this function sets the same internal properties as the
 * option. If a socket lacks these properties, it emits `data` as before, so callers must also listen for `data`.
 */
function readInto(socket: Socket, onBytes: (bytes: Uint8Array) => boolean): void {
  const parts = socket as unknown as SocketParts;
  const keys = Object.getOwnPropertySymbols(socket);
  const buffer = keys.find(({ description }) => description === "kBuffer");
  const callback = keys.find(({ description }) => description === "kBufferCb");
  const handle = parts._handle;
  if (buffer === undefined || callback === undefined || typeof handle?.useUserBuffer !== "function") return;
  const chunk = (memory ??= new Uint8Array(CHUNK_BYTES));
  parts[buffer] = chunk;
  parts[callback] = (length: number): boolean => onBytes(chunk.subarray(0, length));
  handle.useUserBuffer(chunk);
}

type WriteCallback = (error?: Error | null) => void;

/** A chunk that waits until the TLS socket accepts it, completely or in part. */
interface WaitingChunk {
  readonly bytes: Uint8Array;
  readonly onWritten: WriteCallback | undefined;
}

/**
 * Passes at most `MAX_TLS_WRITE` bytes to a TLS socket at a time. Node would encrypt all waiting bytes of a socket at
 * once, and keep memory for the largest such write until the connection closes.
 */
class TlsPieces {
  waitingBytes = 0;
  private readonly socket: Writable;
  private readonly onEmpty: () => void;
  private waiting: WaitingChunk[] = [];
  /** Number of bytes of the first waiting chunk that have been passed to the socket. */
  private written = 0;
  /** Number of writes that the socket has not completed. */
  private inFlight = 0;
  private endsWhenEmpty = false;

  /** @param onEmpty called when the socket has accepted all waiting bytes */
  constructor(socket: Writable, onEmpty: () => void) {
    this.socket = socket;
    this.onEmpty = onEmpty;
  }

  /** Writes `bytes`, which must not change until `onWritten` is called. Returns false if some bytes must wait. */
  write(bytes: Uint8Array, onWritten?: WriteCallback): boolean {
    const { socket } = this;
    if (this.waitingBytes === 0 && socket.writableLength + bytes.length < MAX_TLS_WRITE) {
      return socket.write(bytes, onWritten);
    }
    this.waiting.push({ bytes, onWritten });
    this.waitingBytes += bytes.length;
    this.flush();
    return this.waitingBytes === 0;
  }

  end(): void {
    if (this.waitingBytes > 0) this.endsWhenEmpty = true;
    else this.socket.end();
  }

  clear(): void {
    this.waiting = [];
    this.waitingBytes = 0;
    this.written = 0;
  }

  private flush(): void {
    const { socket, waiting } = this;
    let finished = 0;
    for (let chunk = waiting[0]; chunk !== undefined; chunk = waiting[finished]) {
      let available = MAX_TLS_WRITE - socket.writableLength;
      // Other code has filled the socket, and its callbacks do not call this object.
      if (available <= 0 && this.inFlight === 0) available = MAX_TLS_WRITE;
      if (available <= 0) break;
      const part = chunk.bytes.subarray(this.written, this.written + available);
      this.written += part.length;
      this.waitingBytes -= part.length;
      const isLast = this.written === chunk.bytes.length;
      if (isLast) {
        finished++;
        this.written = 0;
      }
      this.pass(part, isLast ? chunk.onWritten : undefined);
    }
    waiting.splice(0, finished);
    if (this.endsWhenEmpty && this.waitingBytes === 0) socket.end();
  }

  private pass(part: Uint8Array, onWritten: WriteCallback | undefined): void {
    this.inFlight++;
    this.socket.write(part, (error) => {
      this.inFlight--;
      onWritten?.(error);
      if (error) this.clear();
      else if (this.waitingBytes > 0) this.flush();
      else this.onEmpty();
    });
  }
}
