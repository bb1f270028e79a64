import { Fifo } from "../fifo.js";
import { closeError } from "./close-codes.js";
import { joined } from "./joined.js";
import type {
  CloseInfo,
  Datagrams,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
} from "./session.js";

/** Number of written bytes that are not delivered yet above which `write` returns false. */
const HIGH_WATER = 256 * 1024;
/** Maximum bytes of a datagram: the size that fits into a QUIC packet on any network path (RFC 9000 §14.1). */
const MAX_DATAGRAM = 1200;
/**
 * Bytes delivered in microtasks before a delivery waits for a macrotask, so that a busy pair of sessions does not block
 * timers and I/O.
 */
const MICROTASK_BYTES = 1024 * 1024;
/** Number of bytes that a delivery counts as, in addition to its data. */
const DELIVERY_BYTES = 1024;

let delivered = 0;

/** Runs `deliver` in a microtask, or in a macrotask if many bytes were delivered since the last one. */
function soon(deliver: () => void, bytes: number): void {
  delivered += DELIVERY_BYTES + bytes;
  if (delivered < MICROTASK_BYTES) {
    queueMicrotask(deliver);
    return;
  }
  delivered = 0;
  setTimeout(deliver, 0);
}

/**
 * Returns two connected in-process sessions. Each receives what the other sends, asynchronously and without I/O. Calls
 * run through the whole protocol, so the pair is useful for tests and for services that share a process.
 */
export function createMemoryPair(): [DirectSession, DirectSession] {
  const a = new MemorySession();
  const b = new MemorySession();
  a.peer = b;
  b.peer = a;
  return [a, b];
}

class MemorySession implements DirectSession {
  peer!: MemorySession;
  readonly streams: Set<MemoryStream> = new Set();
  readonly datagrams: Datagrams = { maxSize: MAX_DATAGRAM, send: (bytes) => this.sendDatagram(bytes) };
  private handler: DirectSessionHandler | undefined = undefined;
  private early: MemoryStream[] = [];
  private ended: { info: CloseInfo; error: Error | undefined } | undefined = undefined;
  private onFirstStream: ((stream: DirectStream) => void) | undefined = undefined;

  firstStream(onStream: (stream: DirectStream) => void): void {
    const [first] = this.early;
    if (first === undefined) {
      this.onFirstStream = onStream;
      return;
    }
    onStream(first);
  }

  attach(handler: DirectSessionHandler): void {
    this.handler = handler;
    const { early } = this;
    this.early = [];
    for (const stream of early) handler.onStream(stream);
    if (this.ended !== undefined) handler.onClosed(this.ended.info, this.ended.error);
  }

  openStream(): DirectStream {
    if (this.ended !== undefined) throw new Error("the session has closed");
    const ours = new MemoryStream(this);
    const theirs = new MemoryStream(this.peer);
    ours.peer = theirs;
    theirs.peer = ours;
    this.streams.add(ours);
    this.peer.streams.add(theirs);
    queueMicrotask(() => this.peer.accept(theirs));
    return ours;
  }

  close(info: CloseInfo = {}): void {
    if (this.ended !== undefined) return;
    const { closeCode = 0, reason = "" } = info;
    const error = closeError({ closeCode, reason });
    this.end({ closeCode, reason }, error);
    queueMicrotask(() => this.peer.end({ closeCode, reason }, error));
  }

  private sendDatagram(bytes: Uint8Array): boolean {
    if (this.ended !== undefined || bytes.length > MAX_DATAGRAM) return false;
    const copy = bytes.slice();
    soon(() => {
      if (this.peer.ended === undefined) this.peer.handler?.onDatagram?.(copy);
    }, copy.length);
    return true;
  }

  private accept(stream: MemoryStream): void {
    if (this.ended !== undefined) return;
    if (this.handler === undefined) this.early.push(stream);
    else this.handler.onStream(stream);
    const { onFirstStream } = this;
    if (onFirstStream === undefined) return;
    this.onFirstStream = undefined;
    onFirstStream(stream);
  }

  get isOver(): boolean {
    return this.ended !== undefined;
  }

  private end(info: CloseInfo, error: Error | undefined): void {
    if (this.ended !== undefined) return;
    this.ended = { info, error };
    for (const stream of this.streams) stream.sessionClosed(error);
    this.streams.clear();
    this.handler?.onClosed(info, error);
  }
}

type Event = Uint8Array | "end" | { readonly reset: number };

class MemoryStream implements DirectStream {
  peer!: MemoryStream;
  private readonly session: MemorySession;
  private handler: DirectStreamHandler | undefined = undefined;
  private readonly arrived: Fifo<Event> = new Fifo();
  private arrivedBytes = 0;
  private paused = false;
  private scheduled = false;
  private receiving = true;
  private sending = true;
  private drainWanted = false;
  /** Code of the peer's request to stop sending, until the handler has received it. */
  private stopped: number | undefined = undefined;
  private peeking: { look: (bytes: Uint8Array) => boolean; onOver: () => void; seen: Uint8Array } | undefined =
    undefined;

  constructor(session: MemorySession) {
    this.session = session;
  }

  attach(handler: DirectStreamHandler): void {
    this.handler = handler;
    this.schedule();
    if (this.stopped !== undefined) queueMicrotask(() => this.tellStopped());
  }

  peek(look: (bytes: Uint8Array) => boolean, onOver: () => void): void {
    this.peeking = { look, onOver, seen: new Uint8Array(0) };
    this.showArrived();
  }

  private showArrived(): void {
    const events: Event[] = [];
    for (let event = this.arrived.shift(); event !== undefined; event = this.arrived.shift()) events.push(event);
    for (const event of events) {
      this.arrived.push(event);
      this.show(event);
    }
  }

  private show(event: Event): void {
    const { peeking } = this;
    if (peeking === undefined) return;
    if (event instanceof Uint8Array) {
      peeking.seen = joined(peeking.seen, event);
      if (peeking.look(peeking.seen)) return;
    } else {
      peeking.onOver();
    }
    this.peeking = undefined;
  }

  write(bytes: Uint8Array, end = false): boolean {
    if (!this.sending) return true;
    const { peer } = this;
    if (bytes.length > 0) peer.arrive(bytes.slice());
    if (end) {
      peer.arrive("end");
      this.sending = false;
      this.release();
    }
    if (peer.arrivedBytes <= HIGH_WATER) return true;
    this.drainWanted = true;
    return false;
  }

  pendingBytes(): number {
    return this.session.isOver ? 0 : this.peer.arrivedBytes;
  }

  reset(code: number): void {
    if (!this.sending) return;
    this.sending = false;
    this.peer.dropArrived();
    this.peer.arrive({ reset: code });
    this.release();
  }

  stopSending(code: number): void {
    if (!this.receiving) return;
    this.receiving = false;
    this.dropArrived();
    this.release();
    const { peer } = this;
    peer.stopped = code;
    queueMicrotask(() => peer.tellStopped());
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.schedule();
  }

  sessionClosed(error: Error | undefined): void {
    const live = this.receiving || this.sending;
    this.receiving = false;
    this.sending = false;
    this.dropArrived();
    this.peeking?.onOver();
    this.peeking = undefined;
    if (live) this.handler?.onClosed(error);
  }

  private arrive(event: Event): void {
    if (!this.receiving) return;
    if (event instanceof Uint8Array) this.arrivedBytes += event.length;
    this.arrived.push(event);
    this.show(event);
    this.schedule();
  }

  private dropArrived(): void {
    this.arrived.clear();
    this.arrivedBytes = 0;
  }

  private schedule(): void {
    if (this.scheduled || this.paused || this.handler === undefined || this.arrived.length === 0) return;
    this.scheduled = true;
    soon(() => this.deliver(), this.arrivedBytes);
  }

  private deliver(): void {
    this.scheduled = false;
    const { handler } = this;
    if (handler === undefined) return;
    while (this.receiving && !this.paused) {
      const event = this.arrived.shift();
      if (event === undefined) break;
      if (event instanceof Uint8Array) {
        this.arrivedBytes -= event.length;
        handler.onData(event);
      } else {
        this.receiving = false;
        if (event === "end") handler.onEnd();
        else handler.onReset(event.reset);
        this.release();
      }
    }
    this.peer.drained();
  }

  private tellStopped(): void {
    const { stopped, handler } = this;
    if (stopped === undefined || handler === undefined) return;
    this.stopped = undefined;
    if (this.sending) handler.onStopSending(stopped);
  }

  private drained(): void {
    if (!this.drainWanted || this.peer.arrivedBytes > HIGH_WATER) return;
    this.drainWanted = false;
    this.handler?.onDrain();
  }

  private release(): void {
    if (!this.receiving && !this.sending) this.session.streams.delete(this);
  }
}
