import { connectWebTransport } from "./connect.js";
import { Datagrams } from "./datagrams.js";
import { QuicError, WebTransportError } from "./errors.js";
import { WEB_TRANSPORT_OPTIONS } from "./option-names.js";
import type { CloseInfo } from "./session-handler.js";
import type { QuicStream } from "./stream.js";
import type { WebTransportStats } from "./stats.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** Options of `new WebTransport` (W3C WebTransport §6.2), and additional options for Node. */
export interface WebTransportOptions extends WebTransportConnectOptions {
  /**
   * SHA-256 hashes of the server certificates to trust. The certificate must be ECDSA P-256, valid now, and for at most
   * 14 days in total. Default: the system's root certificates are trusted.
   */
  serverCertificateHashes?: { algorithm: "sha-256"; value: ArrayBuffer | ArrayBufferView }[];
  /**
   * Has no effect, because every session can send datagrams. It is accepted for code that also runs in browsers.
   * Default false.
   */
  requireUnreliable?: boolean;
  /** Hint without effect: the engine uses the option `transport.congestionControl`. Default: none. */
  congestionControl?: "default" | "throughput" | "low-latency";
}

/**
 * The W3C `WebTransport` class over HTTP/3. `await connectWebTransport(…)` returns the session itself, which also has
 * this package's methods.
 */
export class WebTransport {
  /** Always false, because there is no fallback over TCP. */
  static readonly supportsReliableOnly = false;

  readonly ready: Promise<undefined>;
  readonly closed: Promise<CloseInfo>;
  readonly draining: Promise<undefined>;
  readonly datagrams: Datagrams = new Datagrams();
  readonly incomingBidirectionalStreams: ReadableStream<QuicStream>;
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  /** Always "default", because the hint of the same name has no effect (W3C WebTransport §6.4). */
  readonly congestionControl = "default" as const;
  readonly #session: Promise<WebTransportSession>;
  readonly #abort = new AbortController();
  #open: WebTransportSession | undefined;

  /**
   * Starts to connect to the server. Throws `SyntaxError` for a URL that is invalid, does not use https, or has a
   * fragment.
   */
  constructor(url: string | URL, options: WebTransportOptions = {}) {
    checkUrl(url);
    const { serverCertificateHashes, signal } = options;
    // As browsers do, passes over members that it does not know.
    const known = Object.entries(options).filter(([name]) => Object.hasOwn(WEB_TRANSPORT_OPTIONS, name));
    const rest: WebTransportConnectOptions = Object.fromEntries(known);
    const tls = { ...rest.tls, ...(serverCertificateHashes !== undefined && { serverCertificateHashes }) };
    const combined = signal === undefined ? this.#abort.signal : AbortSignal.any([signal, this.#abort.signal]);
    this.#session = connectWebTransport(url, { ...rest, tls, signal: combined, datagrams: this.datagrams }).then(
      (session) => {
        this.#open = session;
        return session;
      },
      (cause: unknown) => {
        const error = toSessionError(cause);
        this.datagrams.receiveClosed(error instanceof Error ? error : new Error(String(error)));
        throw error;
      },
    );
    this.ready = this.#session.then(() => undefined);
    this.closed = this.#session.then((session) =>
      session.closed.catch((cause: unknown) => {
        throw toSessionError(cause);
      }),
    );
    this.draining = new Promise((resolve) => {
      this.#session.then((session) => session.draining).then(resolve, () => {});
    });
    // As in browsers, unhandled rejections of these promises are not reported.
    this.ready.catch(() => {});
    this.closed.catch(() => {});
    this.incomingBidirectionalStreams = streamLater(this.#session, (session) => session.incomingBidirectionalStreams);
    this.incomingUnidirectionalStreams = streamLater(this.#session, (session) => session.incomingUnidirectionalStreams);
  }

  /** "pending" until `ready` resolves, then "supports-unreliable". */
  get reliability(): "pending" | "supports-unreliable" {
    return this.#open === undefined ? "pending" : this.#open.reliability;
  }

  /** Subprotocol that the server selected, or "". */
  get protocol(): string {
    return this.#open?.protocol ?? "";
  }

  /** Header fields of the server's response. Available after `ready`. */
  get responseHeaders(): ReadonlyMap<string, string> {
    return this.#open?.headers ?? new Map();
  }

  async createBidirectionalStream(options?: { sendOrder?: number }): Promise<QuicStream> {
    return (await this.#session).createBidirectionalStream(options);
  }

  async createUnidirectionalStream(options?: { sendOrder?: number }): Promise<WritableStream<Uint8Array>> {
    return (await this.#session).createUnidirectionalStream(options);
  }

  async getStats(): Promise<WebTransportStats> {
    return (await this.#session).getStats();
  }

  /** Closes the session, or aborts the connection attempt before `ready`. */
  close(info: CloseInfo = {}): void {
    if (this.#open !== undefined) this.#open.close(info);
    else this.#abort.abort(new WebTransportError("the session was closed before it was ready", { source: "session" }));
  }
}

function checkUrl(url: string | URL): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "https:" && parsed.hash === "") return;
  throw new DOMException(`${JSON.stringify(String(url))} is not an https:// URL without a fragment`, "SyntaxError");
}

function toSessionError(cause: unknown): unknown {
  if (!(cause instanceof QuicError) || cause instanceof WebTransportError) return cause;
  const { code, closeCode, reason, status } = cause;
  return new WebTransportError(cause.message, { source: "session", code, closeCode, reason, status, cause });
}

/** Returns a stream that can be used before the session exists. It is connected to the session's stream later. */
function streamLater<T>(
  session: Promise<WebTransportSession>,
  pick: (session: WebTransportSession) => ReadableStream<T>,
): ReadableStream<T> {
  let source: ReadableStreamDefaultReader<T> | undefined;
  return new ReadableStream<T>(
    {
      async pull(controller) {
        source ??= pick(await session).getReader();
        const { done, value } = await source.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        source ??= pick(await session).getReader();
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
