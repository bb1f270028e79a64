import { RpcError } from "@quicrpc/core";
import { ReceivedBody } from "../protocol/received-body.js";
import type { Fetch, FetchInit } from "./options.js";

/** The members of a `node:http2` client stream that this file uses. */
export interface ClientHttp2Stream {
  readonly id?: number | undefined;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableNeedDrain: boolean;
  readonly rstCode?: number | undefined;
  write(bytes: Uint8Array): boolean;
  end(bytes?: Uint8Array): unknown;
  close(code: number): void;
  destroy(error: Error): unknown;
  pause(): unknown;
  resume(): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** The members of a `node:http2` client session that this file uses. */
interface Http2Session {
  readonly closed: boolean;
  readonly destroyed: boolean;
  readonly connecting: boolean;
  request(headers: Record<string, string>, options: { readonly signal?: AbortSignal }): ClientHttp2Stream;
  setTimeout(ms: number): unknown;
  destroy(error?: Error): void;
  ping(onAnswer: (error: Error | null, ms: number) => void): unknown;
  close(): void;
  ref(): void;
  unref(): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  on(event: string, listener: (...args: any[]) => void): unknown;
}

interface Connection {
  readonly session: Http2Session;
  /** Requests in progress. A session without requests and pings does not keep the process alive. */
  readonly streams: Set<ClientHttp2Stream>;
  /** The ping in progress. It is shared, because Node limits the number of pings of a session. */
  ping: Promise<number> | undefined;
  /** Called when the session fails or ends. Set while a ping is in progress. */
  onLost: ((error: Error) => void) | undefined;
}

type ConnectOptions = Readonly<Record<string, unknown>>;

/** Options of `http2Fetch`: those of `connect` of `node:http2`, such as `ca`, and times of pings. */
export interface Http2FetchOptions extends ConnectOptions {
  /**
   * Milliseconds without traffic on a session, while requests are in progress, after which the server is pinged.
   * Default: no pings.
   */
  readonly keepaliveTimeMs?: number | undefined;
  /**
   * Milliseconds within which the server must acknowledge a ping. If it does not, the requests in progress fail, and
   * further ones use a new session. Default: 20,000.
   */
  readonly keepaliveTimeoutMs?: number | undefined;
}

/** Header fields of a response, and its ":status". */
export type ResponseHead = Readonly<Record<string, string | string[]>>;

/** A `fetch` over HTTP/2 that keeps a session open for each origin. */
export interface Http2Fetch extends Fetch {
  /** Closes the sessions when their requests in progress have ended. */
  close(): void;
  /**
   * @internal Sends the head of a request to `origin`. To abort the request before its body has ended, abort `signal`:
   * `close` with an error code would first end the sending side normally, as if the request were complete.
   */
  readonly request: (origin: string, fields: Record<string, string>, signal?: AbortSignal) => ClientHttp2Stream;
  /**
   * @internal Sends a PING to `origin` and resolves with the milliseconds until its acknowledgement. Connects first if
   * there is no session. Rejects if the server does not acknowledge it within `keepaliveTimeoutMs`.
   */
  readonly ping: (origin: string) => Promise<number>;
}

const NO_ERROR = 0;
/** The server has not processed the request, so it may be repeated. */
const REFUSED_STREAM = 7;
const CANCEL = 8;
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** Statuses of responses without a body: the constructor of `Response` accepts none for them. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/**
 * Memory limit for the streams of a session in Node, in megabytes. Node's default of 10 would end some streams; this
 * client has its own limits.
 */
const MAX_SESSION_MB = 1024;

/**
 * Creates a `fetch` over HTTP/2 in Node, for `httpTransport({ fetch, uploads: "full" })`: over TLS, or without it for
 * `http:` URLs. All requests to an origin share one session.
 *
 * @param connect the function of `node:http2`
 * @param options its options, such as `{ ca }`, and `keepaliveTimeMs`
 */
export function http2Fetch(
  connect: (origin: string, options?: ConnectOptions) => unknown,
  options: Http2FetchOptions = {},
): Http2Fetch {
  const { keepaliveTimeMs, keepaliveTimeoutMs = KEEPALIVE_TIMEOUT_MS } = options;
  const connections = new Map<string, Connection>();
  const leave = (origin: string, connection: Connection): void => {
    if (connections.get(origin) === connection) connections.delete(origin);
  };
  const connectionOf = (origin: string): Connection => {
    const present = connections.get(origin);
    if (present !== undefined && !present.session.closed && !present.session.destroyed) return present;
    // Push is disabled: this client would not read pushed responses, each of which would occupy a flow control window.
    const settings = { ...(options["settings"] as object | undefined), enablePush: false };
    const session = connect(origin, { maxSessionMemory: MAX_SESSION_MB, ...options, settings }) as Http2Session;
    const streams = new Set<ClientHttp2Stream>();
    const connection: Connection = { session, streams, ping: undefined, onLost: undefined };
    const onLost = (error?: Error): void => {
      leave(origin, connection);
      connection.onLost?.(error ?? new Error("the server has closed the connection"));
    };
    session.on("goaway", (_: number, lastId: number) => {
      leave(origin, connection);
      // Node would keep those that wait for `maxConcurrentStreams` until another stream ends.
      for (const stream of streams) if ((stream.id ?? 0) > lastId) stream.destroy(refusedBy());
    });
    session.on("close", () => onLost());
    // The session's requests fail with the same error, so it is not reported here.
    session.on("error", onLost);
    if (keepaliveTimeMs !== undefined) pingWhenIdle(connection, keepaliveTimeMs, keepaliveTimeoutMs);
    // An idle session does not keep the process alive.
    session.unref();
    connections.set(origin, connection);
    return connection;
  };
  const open: Http2Fetch["request"] = (origin, fields, signal) => {
    const connection = connectionOf(origin);
    const { session, streams } = connection;
    const stream = session.request(fields, signal === undefined ? {} : { signal });
    session.ref();
    streams.add(stream);
    stream.on("error", ({ code }: NodeError) => {
      if (code === NO_MORE_IDS) leave(origin, connection);
    });
    stream.on("close", () => {
      streams.delete(stream);
      if (streams.size > 0) return;
      if (connection.ping === undefined) session.unref();
      if (connections.get(origin) !== connection) session.close();
    });
    return stream;
  };
  const request: Http2Fetch["request"] = (...given) => {
    try {
      return open(...given);
    } catch (cause) {
      if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause;
      throw new RpcError("invalid_argument", `the request cannot be made: ${cause.message}`, { cause });
    }
  };
  const ping: Http2Fetch["ping"] = async (origin) => {
    const connection = connectionOf(origin);
    return (connection.ping ??= pinged(connection, keepaliveTimeoutMs));
  };
  const fetch = (url: string, init: FetchInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      init.signal.throwIfAborted();
      new Exchange(request, url, init, resolve, reject).start();
    });
  return Object.assign(fetch, {
    close() {
      // Requests in progress close their session when they end: Node would refuse those that are not sent yet. Other
      // sessions do not wait until the server closes its side.
      for (const { session, streams } of connections.values()) if (streams.size === 0) session.destroy();
      connections.clear();
    },
    request,
    ping,
  });
}

/** Pings the server of an idle session that has requests in progress, and destroys the session if there is no answer. */
function pingWhenIdle({ session, streams }: Connection, timeMs: number, timeoutMs: number): void {
  session.setTimeout(timeMs);
  session.on("timeout", () => {
    if (streams.size === 0) return;
    const timer = destroyAfter(session, timeoutMs);
    session.ping((error) => {
      clearTimeout(timer);
      if (error === null) session.setTimeout(timeMs);
    });
  });
}

/** Pings the server. Destroys the session if there is no answer. */
async function pinged(connection: Connection, timeoutMs: number): Promise<number> {
  const { session, streams } = connection;
  let timer: ReturnType<typeof setTimeout> | undefined;
  session.ref();
  try {
    return await new Promise<number>((resolve, reject) => {
      connection.onLost = reject;
      timer = destroyAfter(session, timeoutMs);
      // If the session ends, `onLost` gets the reason.
      const send = (): unknown => session.ping((error, ms) => error === null && resolve(ms));
      if (!session.connecting) send();
      else session.on("connect", () => session.destroyed || send());
    });
  } finally {
    clearTimeout(timer);
    connection.ping = connection.onLost = undefined;
    if (streams.size === 0) session.unref();
  }
}

function destroyAfter(session: Http2Session, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(() => session.destroy(new Error(`the server has not acknowledged a ping within ${ms} ms`)), ms);
}

const nothing = (): void => {};

class Exchange {
  private readonly request: Http2Fetch["request"];
  private readonly url: URL;
  private readonly init: FetchInit;
  private readonly resolve: (response: Response) => void;
  private readonly reject: (error: unknown) => void;
  private stream!: ClientHttp2Stream;
  /**
   * Aborts the stream. `close` with an error code would first end the sending side normally, as if the request were
   * complete.
   */
  private readonly cancelling: AbortController = new AbortController();
  private body: ReceivedBody | undefined = undefined;
  private upload: ReadableStreamDefaultReader<Uint8Array> | undefined = undefined;
  private error: unknown;
  /** Number of missing bytes of the response: infinite before its head, and 0 or less if that states no length. */
  private awaited = Infinity;
  private ended = false;

  constructor(
    request: Http2Fetch["request"],
    url: string,
    init: FetchInit,
    resolve: (response: Response) => void,
    reject: (error: unknown) => void,
  ) {
    this.request = request;
    this.url = new URL(url);
    this.init = init;
    this.resolve = resolve;
    this.reject = reject;
  }

  start(): void {
    const { url, init } = this;
    const { method, headers, body, signal } = init;
    const fields = {
      ":method": method,
      ":path": `${url.pathname}${url.search}`,
      "accept-encoding": "gzip",
      ...Object.fromEntries(headers),
    };
    const stream = this.request(url.origin, fields, this.cancelling.signal);
    this.stream = stream;
    const abort = (): void => this.fail(signal.reason);
    const lost = (): void =>
      this.fail(new TypeError("fetch failed", { cause: new Error("the server has ended the request") }));
    signal.addEventListener("abort", abort);
    stream.on("response", (head: ResponseHead) => {
      try {
        this.answer(head);
      } catch (cause) {
        // This error has no other handler.
        this.fail(new RpcError("unknown", "the server has sent an invalid head of a response", { cause }));
      }
    });
    stream.on("end", () => {
      // Node also emits "end" for a reset stream; "close" follows and reports the error.
      if ((stream.rstCode ?? NO_ERROR) !== NO_ERROR) return;
      if (this.awaited > 0) return lost();
      this.ended = true;
      this.body?.end();
      this.body = undefined;
      leaveUnread(stream);
    });
    stream.on("error", (error: Error) => {
      this.fail(lostRequest(stream, error));
    });
    stream.on("close", () => {
      signal.removeEventListener("abort", abort);
      if (this.ended) this.fail(undefined);
      else lost();
    });
    if (body instanceof ReadableStream) void this.send(body);
    else stream.end(body);
  }

  /** Ends both directions, unless the response has ended normally. */
  private fail(reason: unknown): void {
    this.upload?.cancel(reason).catch(nothing);
    if (this.ended || this.error !== undefined) {
      if (this.ended && !this.stream.destroyed) this.stream.close(NO_ERROR);
      return;
    }
    this.error = reason;
    this.reject(reason);
    this.body?.fail(reason);
    this.body = undefined;
    this.cancelling.abort();
  }

  private answer(head: ResponseHead): void {
    const headers = headersOf(head);
    const status = Number(head[":status"]);
    this.awaited = this.init.method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0);
    const { stream } = this;
    const received = new ReceivedBody({
      pause: () => stream.pause(),
      resume: () => stream.resume(),
      drop: (reason) => this.fail(reason ?? new Error("the answer is not wanted")),
    });
    this.body = received;
    // The listener is added here because Node reports the head after bytes that arrived with it.
    stream.on("data", (bytes: Uint8Array) => {
      this.awaited -= bytes.length;
      received.push(bytes);
    });
    const isCompressed = headers.get("content-encoding") === "gzip";
    const body = isCompressed ? received.stream.pipeThrough(gunzip()) : received.stream;
    const isEmpty = WITHOUT_BODY.has(status);
    this.resolve(new Response(isEmpty ? null : (body as ReadableStream), { status, headers }));
    if (isEmpty) body.cancel().catch(nothing);
  }

  private async send(body: ReadableStream<Uint8Array>): Promise<void> {
    const { stream } = this;
    this.upload = body.getReader();
    let onDrain: (() => void) | undefined;
    const drained = (): void => onDrain?.();
    stream.on("drain", drained);
    stream.on("close", drained);
    try {
      for (let read = await this.upload.read(); !read.done; read = await this.upload.read()) {
        if (stream.destroyed) return;
        if (stream.write(read.value)) continue;
        await new Promise<void>((resolve) => {
          onDrain = resolve;
        });
      }
      if (!stream.destroyed) stream.end();
    } catch (error) {
      this.fail(error);
    }
  }
}

/**
 * Called when a response has ended. Resets the stream if the server does not read the rest of the request: the stream
 * would count towards `maxConcurrentStreams` until the session ends. Node would delay a reset with NO_ERROR.
 */
export function leaveUnread(stream: ClientHttp2Stream): void {
  if (stream.writableEnded && !stream.writableFinished) stream.close(CANCEL);
}

type NodeError = Error & { readonly code?: string };

/** Code of Node's error for a session whose stream ids are used up. */
const NO_MORE_IDS = "ERR_HTTP2_OUT_OF_STREAMS";

function refusedBy(cause?: Error): RpcError {
  return new RpcError("unavailable", "the server has refused the request", { refused: true, cause });
}

/** Returns the reason why a stream has failed, as `fetch` throws it. */
export function lostRequest({ rstCode }: ClientHttp2Stream, error: NodeError): Error {
  if (error instanceof RpcError) return error;
  // If a session ends, all of its streams have its code.
  const isRefused = rstCode === REFUSED_STREAM && error.code === "ERR_HTTP2_STREAM_ERROR";
  if (isRefused || error.code === NO_MORE_IDS) return refusedBy(error);
  // Node wraps the error of a connection that could not be made.
  return new TypeError("fetch failed", { cause: error.cause ?? error });
}

export function headersOf(fields: ResponseHead): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(fields)) {
    if (name.startsWith(":")) continue;
    for (const value of Array.isArray(values) ? values : [values]) headers.append(name, value);
  }
  return headers;
}

function gunzip(): TransformStream<Uint8Array, Uint8Array> {
  return new DecompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>;
}
