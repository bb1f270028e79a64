import { type EngineOptions, packOptions } from "./bind-options.js";
import type { ClientRequest } from "./client-request.js";
import { QuicError, reportException, untraced } from "./errors.js";
import { closeOnExit } from "./close-on-exit.js";
import { fromFailure, loadNative, type NativeEndpoint, unwrap } from "./native.js";
import { handleIndex, packHandle, streamGeneration } from "./handles.js";
import { fieldPairs, HttpRequest } from "./http-request.js";
import * as record from "./native-layout.js";
import { cleanOr, QuicSession } from "./session.js";
import type { SocketAddress } from "./session-handler.js";
import { QuicStream } from "./stream.js";
import { WebTransports } from "./web-transports.js";

/** HTTP/3 error code for an internal error of the server (RFC 9114 §8.1). */
const HTTP3_INTERNAL_ERROR = 0x102;

/** Receives the outcome of a connection attempt. */
export interface Dialling {
  connected(session: QuicSession): void;
  failed(error: QuicError): void;
}

/**
 * A native endpoint with the JavaScript objects of its sessions and streams. The native engine delivers events as
 * records in batches. Each record causes one call on a session or stream.
 */
export class Engine {
  readonly native: NativeEndpoint;
  address: SocketAddress;
  /** True if a separate thread runs the endpoint. JavaScript must then call `kick` after it has written data. */
  readonly threaded: boolean;
  readonly streams: (QuicStream | undefined)[] = [];
  readonly webTransports: WebTransports = new WebTransports(this);
  onSession: ((session: QuicSession) => void) | undefined = undefined;
  onHttpRequest: ((request: HttpRequest) => void) | undefined = undefined;
  onHandshakeError: ((error: QuicError) => void) | undefined = undefined;
  onError: ((error: unknown) => void) | undefined = undefined;
  /** Called with the number of sessions whenever it changes. Sessions that are being dialled count. */
  onSessionCount: ((count: number) => void) | undefined = undefined;
  onClosed: (() => void) | undefined = undefined;
  readonly #sessions: (QuicSession | undefined)[] = [];
  /** Connection attempts that have not succeeded yet, by handle. */
  readonly #dialling: Map<number, Dialling> = new Map();
  /**
   * Local address of the last session. Reused together with `#lastProtocol`, because most sessions have the same
   * values.
   */
  #lastLocal: SocketAddress | undefined = undefined;
  #lastProtocol = "";
  #sessionCount = 0;
  readonly #records = new Uint32Array(record.RECORDS * record.RECORD_WORDS);
  /** Errors of lost connections that their streams have received, but not yet their sessions. */
  readonly #failures = new Map<number, QuicError>();
  #dispatching = false;
  /** True if a handler may keep a chunk of the current batch. */
  #keeping = false;
  /** Indices in `streams` that become free at the end of the current batch. */
  readonly #leaving: number[] = [];
  #flushScheduled = false;
  readonly #flush = (): void => {
    this.#flushScheduled = false;
    if (this.native.flush() === 1) this.kick();
  };

  readonly #closed: () => void;

  constructor(options: EngineOptions) {
    const dispatch = (count: number, slab: Uint8Array): boolean => this.#dispatch(count, slab);
    this.native = unwrap(loadNative().bind(packOptions(options), options.port, dispatch, this.#records));
    this.#closed = closeOnExit(this.native);
    this.threaded = this.native.driver() === "thread";
    this.address = this.#boundAddress();
  }

  /**
   * Returns the local address of a session. `reportedHost` is the system's information; default: the endpoint's own
   * host.
   */
  localAddress(reportedHost: string | undefined, family: SocketAddress["family"]): SocketAddress {
    const { host: boundHost, port } = this.address;
    const host = reportedHost ?? boundHost;
    const last = this.#lastLocal;
    if (last?.host === host && last.port === port && last.family === family) return last;
    // Shared by many sessions.
    this.#lastLocal = Object.freeze({ host, port, family });
    return this.#lastLocal;
  }

  /** Returns an equal string that is shared by sessions with the same protocol. */
  protocol(alpn: string): string {
    if (alpn !== this.#lastProtocol) this.#lastProtocol = alpn;
    return this.#lastProtocol;
  }

  rebind(host: string, port: number): void {
    unwrap(this.native.rebind(host, port));
    this.address = this.#boundAddress();
    this.kick();
  }

  #boundAddress(): SocketAddress {
    const [host, port, family] = this.native.address() ?? ["", 0, "IPv4"];
    return { host, port, family };
  }

  /**
   * Tells the thread driver that there is data to send. Does nothing with the loop driver, which notices that itself.
   */
  kick(): void {
    if (!this.threaded || this.#flushScheduled) return;
    this.#flushScheduled = true;
    setImmediate(this.#flush);
  }

  #acceptStream(index: number, packed: number): QuicStream {
    const [generation, early] = streamGeneration(packed);
    return this.adoptStream(packHandle(index, generation), early);
  }

  adoptStream(handle: number, early = false): QuicStream {
    const stream = new QuicStream(this, handle, early);
    this.streams[handleIndex(handle)] = stream;
    return stream;
  }

  /**
   * Releases a stream that a call from JavaScript ended. During a batch its index stays reserved, because the batch may
   * contain earlier records for the stream, whose data must not be lost.
   */
  releaseStream(index: number): void {
    if (this.#dispatching) this.#leaving.push(index);
    else this.streams[index] = undefined;
  }

  dial(handle: number, dialling: Dialling): void {
    this.#dialling.set(handle, dialling);
    this.#count(1);
    this.kick();
  }

  /** Sends GOAWAY on each HTTP/3 connection and DRAIN_WEBTRANSPORT_SESSION on each session. Only for servers. */
  drain(): void {
    this.kick();
    this.native.drain();
    for (const session of this.#sessions) {
      if (session?.alpnProtocol === "h3") this.native.drainSession(session.handle);
    }
  }

  /** Closes every session, and then the socket. `onClosed` is called afterwards. */
  close(code: number, reason: Uint8Array): void {
    this.kick();
    const waitMs = this.native.closePolitely(code, reason);
    if (waitMs === 0) this.native.close(code, reason);
    else setTimeout(() => this.close(code, reason), waitMs);
  }

  /** Passes a new session to the server's listener. Closes the session if the listener throws. */
  accepted(session: QuicSession): void {
    try {
      this.onSession?.(session);
    } catch (thrown) {
      session.close({ closeCode: 1, reason: "the server could not accept the session" });
      this.hookFailed(thrown);
    }
  }

  #requested(connection: number, index: number, generation: number): void {
    const stream = this.#acceptStream(index, generation);
    const carrier = this.#sessions[connection];
    const head = this.native.requestHead(packHandle(index, generation));
    if (carrier === undefined || head === undefined) return;
    try {
      this.onHttpRequest?.(new HttpRequest(carrier, stream, head));
    } catch (thrown) {
      stream.stopSending(HTTP3_INTERNAL_ERROR);
      stream.reset(HTTP3_INTERNAL_ERROR);
      this.hookFailed(thrown);
    }
  }

  /**
   * Reports an exception of an application callback that a peer triggered. The exception must not end the process,
   * which also serves other peers.
   */
  hookFailed(thrown: unknown): void {
    try {
      if (this.onError !== undefined) this.onError(thrown);
      // oxlint-disable-next-line no-console -- an exception must not pass unseen
      else console.error("quicrpc: a hook failed:", thrown);
    } catch (stopError) {
      // oxlint-disable-next-line no-console -- as above; nobody else is left to receive it
      console.error("quicrpc: onError failed:", stopError, "It was called with:", thrown);
    }
  }

  handlerFailed(thrown: unknown): void {
    if (this.onError === undefined) reportException(thrown);
    else this.hookFailed(thrown);
  }

  #session(index: number): QuicSession | undefined {
    if (index >= record.WEB_TRANSPORT) return this.webTransports.session(index);
    return this.#sessions[index];
  }

  #count(change: number): void {
    this.#sessionCount += change;
    this.onSessionCount?.(this.#sessionCount);
  }

  /**
   * Marks the memory of the current batch as in use, because a handler may keep a chunk of it. The engine then does not
   * write to this memory again.
   */
  keepBatch(): void {
    this.#keeping = true;
  }

  /**
   * Delivers a batch of records. An exception of a handler does not affect other records. Returns true if a handler may
   * keep a chunk of the batch.
   */
  #dispatch(count: number, slab: Uint8Array): boolean {
    if (this.threaded) this.kick();
    this.#dispatching = true;
    this.#keeping = false;
    const records = this.#records;
    // Once for all records: V8 does not inline these.
    const { buffer, byteOffset } = slab;
    const end = count * record.RECORD_WORDS;
    let at = 0;
    while (at < end) {
      try {
        while (at < end) {
          const kind = records[at] as number;
          const a = records[at + 1] as number;
          const b = records[at + 2] as number;
          const c = records[at + 3] as number;
          at += record.RECORD_WORDS;
          switch (kind) {
            case record.DATA:
              this.streams[a]?.receiveData(buffer, byteOffset + b, c);
              break;
            case record.END:
              this.streams[a]?.receiveEnd(b !== 0, c === 0 ? undefined : fieldPairs(this.native.section(a, true)));
              break;
            case record.STREAM: {
              const stream = this.#acceptStream(b, c);
              this.#session(a)?.receiveStream(stream, false);
              break;
            }
            case record.UNI_STREAM: {
              const stream = this.#acceptStream(b, c);
              this.#session(a)?.receiveStream(stream, true);
              break;
            }
            case record.DATAGRAM:
              this.#session(a)?.receiveDatagram(buffer, byteOffset + b, c);
              break;
            case record.DATAGRAM_DRAIN:
              this.#session(a)?.receiveDatagramDrain();
              break;
            case record.RESET:
              this.streams[a]?.receiveReset(b !== 0, c);
              break;
            case record.STOPPED:
              this.streams[a]?.receiveStopped(b !== 0, c);
              break;
            case record.DRAIN:
              this.streams[a]?.receiveDrain();
              break;
            case record.FREED:
              this.streams[a]?.receiveFreed();
              break;
            case record.STREAM_CLOSED:
              this.streams[a]?.receiveClosed(cleanOr(this.#failure(b)));
              break;
            case record.CONNECTED:
              this.#connected(a, b, c);
              break;
            case record.READY:
              this.#sessions[a]?.receiveReady(c !== 0);
              break;
            case record.REQUESTED:
              this.#requested(a, b, c);
              break;
            case record.ANSWERED: {
              const request = this.streams[a] as ClientRequest | undefined;
              request?.receiveResponse({ status: b, fields: fieldPairs(this.native.section(a, false)) });
              break;
            }
            case record.SENT:
              this.streams[a]?.receiveSent(b !== 0);
              break;
            case record.ASKED:
              this.webTransports.onRequested(a, b);
              break;
            case record.DRAINING:
              this.#session(a)?.receiveDraining();
              break;
            case record.LOST:
              this.#onSessionLost(a, b, c);
              break;
            case record.SILENT:
              this.#session(a)?.receiveSilence(c);
              break;
            case record.HANDSHAKE_FAILED:
              this.#handshakeFailed(a);
              break;
            case record.CLOSED:
              this.#closed();
              this.onClosed?.();
              break;
            case record.BROKEN:
              this.#broken();
              break;
          }
        }
      } catch (error) {
        this.#keeping = true;
        this.handlerFailed(error);
      }
    }
    this.#dispatching = false;
    for (const index of this.#leaving) this.streams[index] = undefined;
    this.#leaving.length = 0;
    return this.#keeping;
  }

  #failure(number: number): QuicError {
    let error = this.#failures.get(number);
    if (error === undefined) {
      const failure = this.native.failure(number);
      error = untraced(() =>
        failure === undefined
          ? new QuicError({ source: "session", code: "ERR_QUIC_CLOSED", message: "the session has closed" })
          : fromFailure(failure),
      );
      this.#failures.set(number, error);
    }
    return error;
  }

  #connected(index: number, generation: number, flags: number): void {
    if (index >= record.WEB_TRANSPORT) {
      this.webTransports.granted(index);
      return;
    }
    const handle = packHandle(index, generation);
    const dialling = this.#dialling.get(handle);
    if (dialling === undefined) this.#count(1);
    else this.#dialling.delete(handle);
    const session = new QuicSession(this, handle, undefined, (flags & record.FLAG_EARLY) !== 0);
    this.#sessions[index] = session;
    if (dialling !== undefined) dialling.connected(session);
    else if ((flags & record.FLAG_HTTP3) === 0) this.accepted(session);
  }

  #onSessionLost(index: number, generation: number, failure: number): void {
    const error = this.#failure(failure);
    this.#failures.delete(failure);
    if (index >= record.WEB_TRANSPORT) {
      this.webTransports.onSessionLost(index, generation, error);
      return;
    }
    const handle = packHandle(index, generation);
    const dialling = this.#dialling.get(handle);
    const session = this.#sessions[index];
    if (dialling !== undefined) {
      this.#dialling.delete(handle);
      this.#count(-1);
      dialling.failed(error);
    } else if (session?.handle === handle) {
      this.#sessions[index] = undefined;
      this.#count(-1);
      session.receiveLost(error);
    }
  }

  #handshakeFailed(failure: number): void {
    const error = this.#failure(failure);
    this.#failures.delete(failure);
    try {
      this.onHandshakeError?.(error);
    } catch (thrown) {
      this.hookFailed(thrown);
    }
  }

  /** Handles the failure of the native engine, which has caught a panic and shut down. */
  #broken(): void {
    const message = "the QUIC engine failed and closed this endpoint; please report this with the message on stderr";
    const error = new QuicError({ source: "session", code: "ERR_QUIC_INTERNAL", message });
    const calls = this.streams.splice(0).map((stream) => () => stream?.receiveClosed(error));
    calls.push(...this.webTransports.broken(error));
    const ends = [...this.#dialling.values()].map((dialling) => () => dialling.failed(error));
    this.#dialling.clear();
    for (const session of this.#sessions.splice(0))
      if (session !== undefined) ends.push(() => session.receiveLost(error));
    for (const end of ends) {
      calls.push(() => {
        this.#count(-1);
        end();
      });
    }
    for (const call of calls) {
      try {
        call();
      } catch (thrown) {
        this.handlerFailed(thrown);
      }
    }
    this.#closed();
    this.onClosed?.();
  }
}
