import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import {
  fullName,
  type IncomingContext,
  type LinkedSet,
  type MessageBytes,
  type RequestHead,
  runNotification,
  type ServerRequest,
} from "@quicrpc/core/transport";
import { readHeaders } from "../protocol/headers.js";
import type { CallBlobs } from "./blobs/call-blobs.js";
import type { HttpBlobs } from "./blobs/http-blobs.js";
import type { Requester } from "./blobs/uploads.js";
import { EventCall } from "./event-call.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpCall } from "./http-call.js";
import type { MessageFormat } from "./message-formats.js";
import type { RequestBytes } from "./request-bytes.js";
import { compressionsOf, positionOf } from "./request-head.js";
import { type ReadingLimits, readingWithin, RequestReader } from "./request-reader.js";
import type { RequestSettings } from "./request-settings.js";
import type { Bound, Match } from "./routes.js";
import { StreamCall } from "./stream-call.js";
import { UnaryCall } from "./unary-call.js";

const CALLS = { unary: UnaryCall, stream: StreamCall, events: EventCall } as const;

/** Settings that all requests of one handler share. */
export interface SharedSettings {
  /** Minimum bytes of messages that are compressed for a client that supports it. */
  readonly compressFrom: number;
  /** Which caches may store responses to GET, unless the handler decides; undefined: caches decide. */
  readonly cacheControl: "private" | undefined;
  /** Calls in progress. */
  readonly calls: LinkedSet<HttpCall>;
  /** Readers of requests' messages. */
  readonly readers: LinkedSet<RequestReader>;
  /** Limits of a request's message, if its deadline is not earlier. */
  readonly reading: ReadingLimits;
  readonly blobs: HttpBlobs;
}

/** An HTTP request for a method. */
export class HttpRequest implements ServerRequest {
  readonly bound: Bound<unknown>;
  readonly settings: RequestSettings;
  readonly isAnswered: boolean = true;
  readonly size: number = 0;
  readonly exchange: HttpExchange;
  readonly shared: SharedSettings;
  /** Charged for unread data of the response until the request ends. */
  readonly unsent: RequestBytes;
  /** Names of the compressions that the client supports. */
  readonly accepts: string | undefined;
  format: MessageFormat;
  codec: MessageCodec<unknown> | undefined = undefined;
  /** Milliseconds that the caller waits, counted from the arrival of the request; undefined if not given. */
  timeoutMs: number | undefined = undefined;
  /** Returns the requester of the request's blobs. Set when the client is authenticated. */
  requester: (() => Requester) | undefined = undefined;
  private readonly match: Match<unknown>;
  private readonly arrived: number = Date.now();
  private blobs: CallBlobs | undefined = undefined;
  private reader: RequestReader | undefined = undefined;
  private call: HttpCall | undefined = undefined;

  constructor(
    exchange: HttpExchange,
    match: Match<unknown>,
    settings: RequestSettings,
    unsent: RequestBytes,
    shared: SharedSettings,
  ) {
    this.exchange = exchange;
    this.match = match;
    this.bound = match.bound;
    this.format = match.format;
    this.accepts = compressionsOf(exchange, match);
    this.settings = settings;
    this.unsent = unsent;
    this.shared = shared;
  }

  get encoding(): string {
    return `http-${this.format.name}`;
  }

  readHead(): RequestHead {
    const { exchange, format, timeoutMs } = this;
    const { method } = this.bound;
    this.blobs = method.blobs && this.requester && this.shared.blobs.of(method, this.requester());
    // Before anything is read: throws if the messages do not support this format.
    format.codecOf(method.output);
    this.codec = this.blobs === undefined ? format.codecOf(method.input) : this.blobs.inputCodec(format);
    this.format = this.blobs?.answerFormat(format) ?? format;
    return {
      timeoutMs: timeoutMs === undefined ? undefined : timeoutMs - (Date.now() - this.arrived),
      metadata: () => readHeaders(exchange.headers),
      from: positionOf(exchange, this.match),
    };
  }

  async readMessage(): Promise<MessageBytes> {
    const { exchange, shared, settings } = this;
    const { framing, query } = this.match;
    const limits = readingWithin(shared.reading, this.timeoutMs);
    this.reader = new RequestReader(exchange, settings.budget, limits, shared.readers);
    const bytes = await this.reader.read(framing, query);
    return { bytes, position: 0, end: bytes.length };
  }

  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void {
    const { bound, settings, blobs, exchange } = this;
    if (exchange.isGone) return;
    if (bound.method.kind === "notify") {
      runNotification(bound, input, context, settings, bytes);
      this.newCall(undefined, 0).accept();
      return;
    }
    if (blobs !== undefined) exchange.added = { ...exchange.added, "cache-control": "no-store" };
    const served = blobs === undefined ? bound : blobs.bound(bound, settings.admission, settings.budget);
    this.answer(context, bytes).serve(served, input);
  }

  answer(context: IncomingContext<unknown>, bytes: number): HttpCall {
    return (this.call = this.newCall(context, bytes));
  }

  /** Only an `RpcError` is sent to the caller; any other exception is reported. */
  explain(error: unknown): RpcError {
    if (this.exchange.isGone) return new RpcError("cancelled", "the caller is gone", { refused: true });
    if (error instanceof RpcError) return error;
    this.settings.onError(error, { method: fullName(this.bound.method) });
    return new RpcError("invalid_argument", "the request could not be read");
  }

  refuse(error: RpcError): void {
    if (!this.exchange.isGone) this.newCall(undefined, 0).refuse(error);
  }

  /** Ends the request to free memory. */
  evict(error: RpcError): void {
    if (this.call === undefined) this.reader?.give(error);
    else this.call.evict(error);
  }

  private newCall(context: IncomingContext<unknown> | undefined, bytes: number): HttpCall {
    return new CALLS[this.match.framing](this, context, bytes);
  }
}
