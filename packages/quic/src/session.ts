import { X509Certificate } from "node:crypto";
import { Datagrams } from "./datagrams.js";
import type { Engine } from "./engine.js";
import { QuicError } from "./errors.js";
import { MAX_CLOSE_REASON_BYTES, MAX_UNCLAIMED_STREAMS } from "./limits.js";
import { unwrap } from "./native.js";
import { isPortClosed } from "./port-probe.js";
import { SessionFace } from "./session-face.js";
import { type SessionStats, sessionStats, type WebTransportStats, webTransportStats } from "./stats.js";
import type { QuicStream } from "./stream.js";

/** How a session ended or shall end. */
export interface CloseInfo {
  /** Application error code, 0 to 2^32-1. Default 0. */
  closeCode?: number;
  /** At most 1024 bytes of UTF-8; more is cut. Default "". */
  reason?: string;
}

/** An IP address and UDP port. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  readonly family: "IPv4" | "IPv6";
}

/** Receives the events of one session. */
export interface SessionHandler {
  /** The peer opened a bidirectional stream. */
  onStream(stream: QuicStream): void;
  /** The peer opened a unidirectional stream: it is read only. Without this method such streams are refused. */
  onUniStream?(stream: QuicStream): void;
  /** A datagram. The bytes belong to the handler. Without this method datagrams go to `datagrams.readable`. */
  onDatagram?(bytes: Uint8Array): void;
  /**
   * Asked of a dialled session when nothing has come for some round trips, and at growing intervals then: whether the peer
   * is to be asked (PING) whether it still is there. That also keeps the session from its idle timeout. Default: it is not.
   */
  waits?(): boolean;
  /** The handshake of a session that began early (`earlyData`) is complete. */
  onReady?(earlyDataAccepted: boolean): void;
  /** The session ended; `error` is undefined after a clean close (code 0) by either side. Once, after every stream's `onClosed`. */
  onClosed(info: CloseInfo, error: Error | undefined): void;
}

/** An established QUIC session. Use it through a handler (`attach`, `openStream`), or through the W3C WebTransport members. */
export class QuicSession {
  #remoteAddress!: SocketAddress;
  #localAddress!: SocketAddress;
  #resumed = false;
  /** The negotiated ALPN protocol. */
  readonly alpnProtocol: string;
  #handshake: Handshake | undefined;
  #earlyDataAccepted: boolean | undefined;
  #datagrams: Datagrams | undefined;
  /** @internal */
  readonly engine: Engine;
  /** @internal */
  readonly handle: number;
  #handler: SessionHandler | undefined;
  /** Streams that came before there was a handler; undefined where none has. */
  #early: { stream: QuicStream; unidirectional: boolean }[] | undefined;
  #onFirstStream: ((stream: QuicStream) => void) | undefined;
  #probing = false;
  #ended: { info: CloseInfo; error: QuicError | undefined } | undefined;
  #face: SessionFace | undefined;
  #peerCertificate: X509Certificate | undefined;
  #lastStats: SessionStats | undefined;

  /** @internal */
  constructor(engine: Engine, handle: number, datagrams?: Datagrams, early = false) {
    this.engine = engine;
    this.handle = handle;
    this.#datagrams = datagrams;
    this.alpnProtocol = this.#readInfo();
    if (early) this.#handshake = new Handshake();
    datagrams?.bind(engine, handle);
  }

  /** Unreliable messages of up to `datagrams.maxSize` bytes. */
  get datagrams(): Datagrams {
    if (this.#datagrams === undefined) {
      this.#datagrams = new Datagrams();
      this.#datagrams.bind(this.engine, this.handle);
      if (this.#ended !== undefined) this.#datagrams.receiveClosed(this.#ended.error);
    }
    return this.#datagrams;
  }

  /** The peer's address now: a client may move (RFC 9000 §9). After the session's end the last one asked for. */
  get remoteAddress(): SocketAddress {
    this.#readInfo();
    return this.#remoteAddress;
  }

  /** The address of this end, as far as the system tells. */
  get localAddress(): SocketAddress {
    this.#readInfo();
    return this.#localAddress;
  }

  /** Returns the ALPN protocol, since the engine tells all at once. */
  #readInfo(): string {
    const info = this.engine.native.sessionInfo(this.handle);
    if (info === undefined && this.#remoteAddress !== undefined) return this.alpnProtocol;
    const [remote, localHost, alpn, resumed] = info ?? [["", 0, "IPv4"] as const, undefined, "", 0];
    const [host, port, family] = remote;
    this.#remoteAddress = { host, port, family: family === "IPv6" ? "IPv6" : "IPv4" };
    this.#localAddress = this.engine.localAddress(localHost, this.#remoteAddress.family);
    this.#resumed = resumed !== 0;
    return this.engine.protocol(alpn);
  }

  /**
   * Admits the session, on an endpoint that listens with `admission: "manual"`. Returns false where there is no room for another
   * (`maxSessions`); the caller then closes it.
   */
  admit(): boolean {
    this.engine.kick();
    return this.engine.native.admitSession(this.handle) !== 0;
  }

  /**
   * Calls `onStream` with the first bidirectional stream that the peer has opened or opens, for a look at its first bytes
   * (`QuicStream.peek`): before `admit` too. The handler that is attached later receives the stream, and all its bytes.
   */
  firstStream(onStream: (stream: QuicStream) => void): void {
    const first = this.#early?.find(({ unidirectional }) => !unidirectional);
    if (first !== undefined) {
      onStream(first.stream);
      return;
    }
    this.#onFirstStream = onStream;
    this.engine.kick();
    this.engine.native.greetSession(this.handle);
  }

  /** Milliseconds until the session must be admitted, by the time its connection began. Infinity: it needs not. */
  get remainingMs(): number {
    const remaining = this.engine.native.remainingMs(this.handle);
    return remaining < 0 ? Number.POSITIVE_INFINITY : remaining;
  }

  /** Starts delivery to `handler`, beginning with what arrived before. Once per session. */
  attach(handler: SessionHandler): void {
    if (this.#handler !== undefined) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_ATTACHED", message: "the session already has a handler" });
    }
    this.#handler = handler;
    const early = this.#early;
    this.#early = undefined;
    for (const { stream, unidirectional } of early ?? []) {
      try {
        offer(handler, stream, unidirectional);
      } catch (error) {
        this.engine.handlerFailed(error);
      }
    }
    if (this.#ended !== undefined) handler.onClosed(this.#ended.info, this.#ended.error);
  }

  /**
   * Opens a bidirectional stream. Beyond the peer's stream limit it waits, holding what is written. Throws when the
   * session has closed.
   */
  openStream(): QuicStream {
    return this.#open(false);
  }

  /** Opens a unidirectional stream, which is written only; else as `openStream`. */
  openUniStream(): QuicStream {
    return this.#open(true);
  }

  #open(unidirectional: boolean): QuicStream {
    if (this.#ended !== undefined) {
      throw (
        this.#ended.error ??
        new QuicError({ source: "session", code: "ERR_QUIC_CLOSED", message: "the session has closed" })
      );
    }
    const engine = this.engine;
    return engine.adoptStream(unwrap(engine.native.openStream(this.handle, unidirectional)));
  }

  /** Closes the session at once with CONNECTION_CLOSE (RFC 9000 §10.2); unsent data is dropped. */
  close(info: CloseInfo = {}): void {
    if (this.#ended !== undefined) return;
    this.engine.kick();
    this.engine.native.closeSession(this.handle, info.closeCode ?? 0, encodeReason(info.reason));
  }

  /**
   * The certificate the peer has shown: always a server's, a client's when `clientCertificates` asked for it. Asked for
   * on first use, while the session lives.
   */
  get peerCertificate(): X509Certificate | undefined {
    if (this.#peerCertificate === undefined) {
      const der = this.engine.native.peerCertificate(this.handle);
      if (der !== undefined) this.#peerCertificate = new X509Certificate(der);
    }
    return this.#peerCertificate;
  }

  /**
   * Returns `length` bytes of keying material of the connection's TLS (RFC 8446 §7.5), at most 8,160: the same at both ends, and nowhere
   * else. A label has at most 249 bytes. Of a WebTransport session they are those of W3C WebTransport §6.4, of this session alone, whose label and context have at most 255 bytes.
   * Rejects before the handshake is complete, and after the session's end.
   */
  async exportKeyingMaterial(label: Uint8Array, context: Uint8Array, length: number): Promise<Uint8Array> {
    // The engine keeps a closed connection for a while.
    const material = this.#ended
      ? undefined
      : this.engine.native.exportKeyingMaterial(this.handle, label, context, length);
    if (material !== undefined) return new Uint8Array(material);
    const message =
      "there is no keying material: the session is not ready, has ended, or the label, context or length cannot be";
    throw new QuicError({ source: "usage", code: "ERR_QUIC_NO_KEYING_MATERIAL", message });
  }

  /** Counters and measurements; after the session's end the last ones that were asked for. */
  stats(): SessionStats {
    const numbers = this.engine.native.sessionStats(this.handle);
    if (numbers !== undefined || this.#lastStats === undefined) this.#lastStats = sessionStats(numbers);
    return this.#lastStats;
  }

  /** `stats` as W3C WebTransport names them. */
  async getStats(): Promise<WebTransportStats> {
    return webTransportStats(this.stats(), this.datagrams.stats());
  }

  /** Fulfils when the handshake is complete: at once but for sessions with early data. */
  get ready(): Promise<undefined> {
    return this.#handshake?.done ?? Promise.resolve(undefined);
  }

  /** The handshake is still in progress (`earlyData`): who the peer is, and that it is there now, is not yet proven. */
  get early(): boolean {
    return this.#handshake !== undefined && this.#earlyDataAccepted === undefined && this.#ended === undefined;
  }

  /**
   * Whether the server accepted the early data of a session that began early; undefined until `ready`, and for other
   * sessions. Streams of rejected early data have ended with `ERR_QUIC_EARLY_DATA_REJECTED`.
   */
  get earlyDataAccepted(): boolean | undefined {
    return this.#earlyDataAccepted;
  }

  /** Whether a dialled session resumed an earlier one, and so did without the server's certificate. */
  get resumed(): boolean {
    this.#readInfo();
    return this.#resumed;
  }

  /** Fulfils when either side closed the session, rejects when it was lost (W3C WebTransport §6.4). */
  get closed(): Promise<CloseInfo> {
    return this.#web().closed;
  }

  /** The streams the peer opens; takes the place of a handler. */
  get incomingBidirectionalStreams(): ReadableStream<QuicStream> {
    return this.#web().bidirectional;
  }

  /** The unidirectional streams the peer opens; takes the place of a handler. */
  get incomingUnidirectionalStreams(): ReadableStream<ReadableStream<Uint8Array>> {
    return this.#web().unidirectional;
  }

  /** `openStream` as W3C WebTransport names it. Of streams that wait to be sent, a higher `sendOrder` goes first. */
  async createBidirectionalStream(options: { sendOrder?: number } = {}): Promise<QuicStream> {
    const stream = this.openStream();
    if (options.sendOrder !== undefined) stream.setPriority(options.sendOrder);
    return stream;
  }

  /** The writable of an `openUniStream`. */
  async createUnidirectionalStream(options: { sendOrder?: number } = {}): Promise<WritableStream<Uint8Array>> {
    const stream = this.openUniStream();
    if (options.sendOrder !== undefined) stream.setPriority(options.sendOrder);
    return stream.writable;
  }

  #web(): SessionFace {
    if (this.#face === undefined) {
      this.#face = new SessionFace(this);
      if (this.#ended !== undefined) this.#face.settle(this.#ended.info, this.#ended.error);
    }
    return this.#face;
  }

  /** @internal */
  receiveReady(earlyDataAccepted: boolean): void {
    this.#earlyDataAccepted = earlyDataAccepted;
    this.#handshake?.complete(undefined);
    this.#handler?.onReady?.(earlyDataAccepted);
  }

  /** @internal */
  receiveStream(stream: QuicStream, unidirectional: boolean): void {
    if (this.#handler !== undefined) offer(this.#handler, stream, unidirectional);
    else if ((this.#early ??= []).length < MAX_UNCLAIMED_STREAMS) this.#early.push({ stream, unidirectional });
    else stream.refuse();
    if (this.#onFirstStream !== undefined && !unidirectional) {
      const onFirst = this.#onFirstStream;
      this.#onFirstStream = undefined;
      onFirst(stream);
    }
  }

  /** @internal */
  receiveDatagram(slab: ArrayBufferLike, offset: number, length: number): void {
    const bytes = new Uint8Array(slab, offset, length);
    if (this.#handler?.onDatagram === undefined) {
      // Copied: one kept datagram would keep its whole slab.
      this.datagrams.receive(bytes.slice());
      return;
    }
    this.engine.keepBatch();
    this.#handler.onDatagram(bytes);
  }

  /** @internal */
  receiveDatagramDrain(): void {
    this.#datagrams?.receiveDrain();
  }

  /** @internal */
  receiveSilence(unanswered: number): void {
    const waits = this.#ended === undefined ? this.#handler?.waits?.() : undefined;
    if (waits === false) this.engine.native.idle(this.handle);
    if (waits !== true) return;
    this.engine.kick();
    this.engine.native.ping(this.handle);
    if (unanswered > 0) this.#probePort();
  }

  /** The system may know that nobody listens there any more. */
  #probePort(): void {
    if (this.#probing) return;
    this.#probing = true;
    const { host, port } = this.remoteAddress;
    void isPortClosed(host, port).then((closed) => {
      this.#probing = false;
      if (!closed || this.#ended !== undefined) return;
      this.engine.kick();
      this.engine.native.portUnreachable(this.handle);
    });
  }

  /** @internal */
  receiveLost(error: QuicError): void {
    if (this.#ended !== undefined) return;
    const { closeCode, reason = "" } = error;
    const info: CloseInfo = closeCode === undefined ? {} : { closeCode, reason };
    this.#ended = { info, error: cleanOr(error) };
    // The face first: a handler that throws must not leave `closed` pending.
    this.#face?.settle(info, error);
    this.#handshake?.fail(error);
    this.#datagrams?.receiveClosed(this.#ended.error);
    this.#handler?.onClosed(info, this.#ended.error);
  }
}

/** The end of a handshake that is awaited. */
class Handshake {
  readonly done: Promise<undefined>;
  complete!: (value: undefined) => void;
  fail!: (error: Error) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.complete = resolve;
      this.fail = reject;
    });
    // Nobody is obliged to wait for it.
    this.done.catch(() => {});
  }
}

function offer(handler: SessionHandler, stream: QuicStream, unidirectional: boolean): void {
  if (!unidirectional) handler.onStream(stream);
  else if (handler.onUniStream !== undefined) handler.onUniStream(stream);
  else stream.refuse();
}

/** A close with code 0 by either side is not an error. */
export function cleanOr(error: QuicError): QuicError | undefined {
  return error.closeCode === 0 ? undefined : error;
}

/** Returns at most 1024 bytes of a text, cut between characters. */
export function encodeReason(reason = ""): Uint8Array {
  const bytes = new Uint8Array(MAX_CLOSE_REASON_BYTES);
  return bytes.subarray(0, new TextEncoder().encodeInto(reason, bytes).written);
}
