import { type Limits, type Router, RpcError, type TypedCaller } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import {
  type Admission,
  type ErrorHook,
  fullName,
  type IncomingContext,
  type LinkedSet,
  type MemoryBudget,
  type MessageBytes,
  type OnceSettings,
  type RequestHead,
  runNotification,
  type ServerRequest,
} from "@quicrpc/core/internal";
import { FROM_HEADER, readCursor, readEventId } from "../protocol/cursor.js";
import { readHeaders } from "../protocol/headers.js";
import { readTimeout, TIMEOUT_HEADER, requireVersion, VERSION_HEADER } from "../protocol/request-headers.js";
import type { CallBlobs } from "./blobs/call-blobs.js";
import type { HttpBlobs } from "./blobs/http-blobs.js";
import { nobody, type RequestCaller } from "./caller.js";
import { EventCall } from "./event-call.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpCall } from "./http-call.js";
import type { MessageFormat } from "./message-formats.js";
import type { RequestBytes } from "./request-bytes.js";
import { type ReadingLimits, readingWithin, RequestReader, STREAM_CODING_HEADER } from "./request-reader.js";
import type { RequestInProgress } from "./requests-in-progress.js";
import type { CallProtocol } from "./protocol.js";
import type { Bound, Match } from "./routes.js";
import { StreamCall } from "./stream-call.js";
import { UnaryCall } from "./unary-call.js";

const CALLS = { unary: UnaryCall, stream: StreamCall, events: EventCall } as const;

const CONNECT: CallProtocol = {
  codingHeader: STREAM_CODING_HEADER,
  accepts({ exchange, match: { framing, query } }) {
    if (framing === "stream")
      return exchange.header("connect-accept-encoding") ?? exchange.header(STREAM_CODING_HEADER);
    return exchange.header("accept-encoding") ?? query?.get("compression") ?? exchange.header("content-encoding");
  },
  timeoutOf(exchange) {
    requireVersion(exchange.header(VERSION_HEADER));
    return readTimeout(exchange.header(TIMEOUT_HEADER));
  },
  metadataOf: ({ headers }) => readHeaders(headers),
  answer: (request, context, bytes) => new CALLS[request.match.framing](request, context, bytes),
};

/** Settings and state that all requests of one handler share. */
export interface SharedSettings {
  /** Minimum bytes of messages that are compressed for a client that supports it. */
  readonly compressFrom: number;
  /** The `cache-control` of responses to GET, unless the handler sets another; undefined for none. */
  readonly cacheControl: "private" | undefined;
  readonly calls: LinkedSet<HttpCall>;
  readonly readers: LinkedSet<RequestReader>;
  /** Limits for reading a request's message, unless its deadline is earlier. */
  readonly reading: ReadingLimits;
  readonly blobs: HttpBlobs;
  readonly limits: Limits;
  readonly once: OnceSettings | undefined;
  /** The methods of the handler, with its interceptors. */
  readonly served: Router<never>;
}

/**
 * An HTTP request for a method, with the settings of its call and context. It is a class, like other objects that live
 * as long as a request: V8 allocates object literals in the old generation if many of them have survived a minor
 * garbage collection, which keeps everything that they refer to alive until the next full collection.
 */
export class HttpServerRequest implements ServerRequest {
  readonly bound: Bound<unknown>;
  readonly isAnswered: boolean = true;
  readonly size: number = 0;
  readonly exchange: HttpExchange;
  readonly shared: SharedSettings;
  readonly session: TypedCaller = nobody;
  readonly limits: Limits;
  readonly once: OnceSettings | undefined;
  readonly onError: ErrorHook;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
  /** Bytes charged for response data that the client has not read. */
  readonly unsent: RequestBytes;
  /** Result of `authenticate`; undefined before that. */
  connection: unknown = undefined;
  format: MessageFormat;
  codec: MessageCodec<unknown> | undefined = undefined;
  /** Milliseconds that the caller waits from the arrival of the request; undefined if it has set no timeout. */
  timeoutMs: number | undefined = undefined;
  readonly match: Match<unknown>;
  readonly protocol: CallProtocol;
  private readonly arrived: number = Date.now();
  private caller: RequestCaller | undefined = undefined;
  private blobs: CallBlobs | undefined = undefined;
  private reader: RequestReader | undefined = undefined;
  private call: HttpCall | undefined = undefined;

  constructor(
    exchange: HttpExchange,
    match: Match<unknown>,
    { budget, unsent }: RequestInProgress,
    admission: Admission,
    onError: ErrorHook,
    shared: SharedSettings,
  ) {
    this.match = match;
    this.protocol = match.protocol ?? CONNECT;
    this.exchange = this.protocol.exchangeOf?.(exchange) ?? exchange;
    this.bound = match.bound;
    this.format = match.format;
    this.budget = budget;
    this.unsent = unsent;
    this.admission = admission;
    this.onError = onError;
    this.limits = shared.limits;
    this.once = shared.once;
    this.shared = shared;
  }

  get settings(): this {
    return this;
  }

  get served(): Router<never> {
    return this.shared.served;
  }

  /** Key under which the client's calls are counted; undefined if clients are not distinguished. */
  get client(): string | undefined {
    return this.caller?.client;
  }

  /** Reads the caller's timeout, before authentication. Throws `RpcError` if it is malformed. */
  begin(): void {
    const timeoutMs = this.protocol.timeoutOf(this.exchange);
    if (timeoutMs !== undefined) this.timeoutMs = Math.min(timeoutMs, this.limits.maxTimeoutMs);
  }

  /** Stores the result of authentication. */
  identify(connection: unknown, caller: RequestCaller): void {
    this.connection = connection;
    this.caller = caller;
  }

  get encoding(): string {
    return `http-${this.format.name}`;
  }

  readHead(): RequestHead {
    const { exchange, format, protocol } = this;
    const { method } = this.bound;
    this.blobs = method.blobs && this.caller && this.shared.blobs.of(method, this.caller.requester());
    // Called before the message is read, because it throws if the output does not support the format.
    format.codecOf(method.output, "output");
    this.codec = this.blobs === undefined ? format.codecOf(method.input, "input") : this.blobs.inputCodec(format);
    this.format = this.blobs?.answerFormat(format) ?? format;
    return {
      timeoutMs: this.remainingMs,
      metadata: () => protocol.metadataOf(exchange),
      from: this.from(),
    };
  }

  /** Milliseconds that the caller still waits; undefined if it has set no timeout. */
  private get remainingMs(): number | undefined {
    return this.timeoutMs === undefined ? undefined : this.timeoutMs - (Date.now() - this.arrived);
  }

  /** Returns the cursor of the last item that the caller has received; undefined if it has sent none. */
  private from(): string | undefined {
    const { exchange, match } = this;
    const headerCursor = readCursor(exchange.header(FROM_HEADER));
    // Browsers send `Last-Event-ID` automatically, so it is ignored for streams without cursors.
    const isEvents = match.framing === "events" && this.bound.method.cursor !== undefined;
    return readEventId(isEvents ? exchange.header("last-event-id") : undefined) ?? headerCursor;
  }

  async readMessage(): Promise<MessageBytes> {
    const { exchange, shared } = this;
    const { framing, query } = this.match;
    const limits = readingWithin(shared.reading, this.remainingMs);
    const { codingHeader } = this.protocol;
    this.reader = new RequestReader(exchange, this.budget, limits, shared.readers, this.client, codingHeader);
    const bytes = await this.reader.read(framing, query);
    return { bytes, position: 0, end: bytes.length };
  }

  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void {
    const { bound, blobs, exchange } = this;
    if (exchange.isGone) return;
    if (bound.method.kind === "notify") {
      runNotification(bound, input, context, this, bytes);
      this.newCall(undefined, 0).accept();
      return;
    }
    if (blobs !== undefined) exchange.added = { ...exchange.added, "cache-control": "no-store" };
    const served = blobs === undefined ? bound : blobs.bound(bound, this.admission, this.budget);
    this.answer(context, bytes).serve(served, input);
  }

  answer(context: IncomingContext<unknown>, bytes: number): HttpCall {
    return (this.call = this.newCall(context, bytes));
  }

  /**
   * Returns the error that the caller receives for an exception. Reports an exception that is not an `RpcError`, and
   * hides it from the caller.
   */
  explain(error: unknown): RpcError {
    if (this.exchange.isGone) return new RpcError("cancelled", "the caller is gone", { refused: true });
    if (error instanceof RpcError) return error;
    this.onError(error, { method: fullName(this.bound.method) });
    return new RpcError("invalid_argument", "the request could not be read");
  }

  refuse(error: RpcError): void {
    if (!this.exchange.isGone) this.newCall(undefined, 0).refuse(error);
  }

  /** Ends the request to free memory, whether its message is being read or its call is in progress. */
  evict(error: RpcError): void {
    if (this.call === undefined) this.reader?.give(error);
    else this.call.evict(error);
  }

  private newCall(context: IncomingContext<unknown> | undefined, bytes: number): HttpCall {
    return this.protocol.answer(this, context, bytes);
  }
}
