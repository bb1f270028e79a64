import type { RpcError } from "@quicrpc/core";
import { expiries, type Expiry, type ListLink, LinkedSet } from "@quicrpc/core/internal";
import type { ByteBody } from "../protocol/body.js";
import { type AnswerBody, type AnswerHead, type Fields, type HttpExchange, splitAbsolute } from "./exchange.js";
import { bodyLengthOf } from "./text-body.js";
import {
  destroyWhenReset,
  endOfTurn,
  headerFieldsOf,
  isInPieces,
  isLoopbackAddress,
  LINGER_MS,
  NodeAnswerBody,
  type NodeHeaders,
  NodeInput,
  type Trailers,
  trailersOf,
  type NodeReadable,
  type NodeWritable,
  whenFinished,
} from "./node-input.js";

/** The members of a `node:http2` server stream that this package uses. */
export interface Http2Stream extends NodeReadable, NodeWritable {
  readonly session?:
    | {
        readonly encrypted?: boolean | undefined;
        readonly socket: { readonly remoteAddress?: string | undefined; readonly localAddress?: string | undefined };
      }
    | undefined;
  readonly rstCode?: number | undefined;
  readonly aborted: boolean;
  /** True if the stream was reset or has ended. The event "close" may follow much later. */
  readonly closed: boolean;
  readonly writableFinished: boolean;
  /** State of the stream in HTTP/2, as a number of nghttp2. */
  readonly state: { readonly state?: number | undefined };
  read(bytes: number): Uint8Array | null;
  unshift(piece: Uint8Array): void;
  respond(
    fields: Record<string, string | string[] | number>,
    options?: { readonly endStream?: boolean; readonly waitForTrailers?: boolean },
  ): void;
  sendTrailers(fields: Record<string, string | string[]>): void;
  end(body?: Uint8Array | string): unknown;
  close(code: number): void;
  destroy(error?: Error): unknown;
  additionalHeaders(fields: Readonly<Record<string, string | number>>): void;
}

const NO_ERROR = 0;
/** nghttp2's state of a stream whose sending side the client has ended. */
const HALF_CLOSED_REMOTE = 6;
const NOTHING = new Uint8Array(0);
const NOW = Promise.resolve();
/** Maximum bytes of a body for which the server checks whether all of it has arrived with the head. */
const MAX_ARRIVED = 16_384;

/** The exchange for an HTTP/2 stream of Node. It does not use Node's HTTP/1.1 compatibility objects. */
export class Http2Exchange extends NodeInput implements HttpExchange {
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  readonly request: Http2Stream;
  readonly supportsTrailers: boolean = true;
  readonly target: string;
  private readonly named: string | undefined;
  /** Header fields that the server adds to every response on the stream. */
  private readonly carried: Readonly<Record<string, string>> | undefined;
  /**
   * Declared bytes of the body, which `arrivedBody` reads; `NaN` if there is no declaration; undefined until `arrival`
   * is called.
   */
  private arriving: number | undefined = undefined;
  /** True if all declared bytes of the body were read without checking that the stream ends after them. */
  private isTaken = false;
  /** Entry in `lingering`, the list of streams that were answered before the client had ended them. */
  private place: ListLink<Http2Exchange> | undefined = undefined;
  /** Value of the turn counter of `lingering` when this request was answered. */
  answeredIn = 0;
  private closed = false;

  constructor(stream: Http2Stream, fields: NodeHeaders, carried: Readonly<Record<string, string>> | undefined) {
    super(fields, stream);
    this.request = stream;
    this.carried = carried;
    const path = String(fields[":path"] ?? "/");
    const absolute = splitAbsolute(path);
    this.target = absolute?.target ?? path;
    this.named = absolute?.authority;
    this.endsWith(stream);
    destroyWhenReset(stream);
  }

  get isGone(): boolean {
    return this.closed || this.request.closed || this.request.destroyed;
  }

  get method(): string {
    return String(this.fields[":method"] ?? "GET");
  }

  get authority(): string | undefined {
    return this.named ?? this.header(":authority") ?? this.header("host");
  }

  get isSecure(): boolean {
    return this.request.session?.encrypted === true;
  }

  get isLoopback(): boolean {
    return isLoopbackAddress(this.request.session?.socket.localAddress);
  }

  get peer(): string | undefined {
    return this.request.session?.socket.remoteAddress;
  }

  get body(): ByteBody {
    return this.bodyUntil(this.request);
  }

  arrival(): Promise<void> | undefined {
    if (this.arriving !== undefined) return undefined;
    const length = (this.arriving = Number(this.header("content-length")));
    if (length > MAX_ARRIVED) return undefined;
    if (length === 0) return NOW;
    // A Node stream delivers nothing before its first read.
    this.request.read(0);
    return endOfTurn();
  }

  arrivedBody(): Uint8Array | undefined {
    const { request: stream, arriving: declared = 0 } = this;
    const isDeclared = !Number.isNaN(declared);
    if (!isDeclared && stream.state.state !== HALF_CLOSED_REMOTE) return undefined;
    const length = isDeclared ? declared : (stream.readableLength ?? 0);
    if (length === 0) {
      this.isTaken = true;
      return NOTHING;
    }
    if (stream.destroyed || stream.readableEnded) return undefined;
    // Reads exactly this number of bytes. Reading more would find the end of the stream, and Node destroys a stream
    // when both directions have ended, even if a write is pending.
    const body = stream.read(length);
    if (body === null) return undefined;
    if (body.length < length) {
      // The bytes are put back, so that the next reader finds the truncated body from its beginning.
      stream.unshift(body);
      return undefined;
    }
    this.isTaken = true;
    return body;
  }

  respond(head: AnswerHead, body?: Uint8Array | string, trailers?: Fields): void {
    const stream = this.request;
    this.onGone = undefined;
    if (this.isGone) return;
    const fields = this.fieldsOf(head);
    if (body !== undefined && trailers === undefined) fields["content-length"] = String(bodyLengthOf(body));
    const endStream = body === undefined || this.method === "HEAD";
    const options = { endStream, waitForTrailers: trailers !== undefined };
    if (!endStream && isInPieces(body, this.isSecure)) {
      if (!stream.readableEnded && !this.isTaken) stream.resume();
      stream.respond(fields, options);
      const pieces = this.bodyInPieces();
      pieces.write(body);
      pieces.end(trailers);
      return;
    }
    if (!stream.readableEnded) this.endRequest();
    if (trailers !== undefined) sendAfterBody(stream, trailersOf(trailers));
    stream.respond(fields, options);
    if (!endStream) stream.end(body);
  }

  respondWhole(head: AnswerHead, body: Uint8Array, trailers: Fields): void {
    this.respond(head, body, trailers);
  }

  open(head: AnswerHead): AnswerBody {
    const { isGone } = this;
    if (!isGone) {
      const waitForTrailers = head.trailers === true;
      this.request.respond(this.fieldsOf(head), waitForTrailers ? { waitForTrailers } : undefined);
    }
    return this.bodyInPieces(isGone);
  }

  private bodyInPieces(isGone: boolean = false): NodeAnswerBody {
    const stream = this.request;
    const onEnded = (): void => {
      if (stream.readableEnded) return;
      stream.resume();
      whenFinished(stream, () => this.endRequest());
    };
    const sendTrailers = (trailers: Trailers): void => sendAfterBody(stream, trailers);
    return new NodeAnswerBody(stream, isGone, this.isSecure, onEnded, sendTrailers);
  }

  cutOff(error: RpcError): void {
    // If the stream were destroyed without an error, it would end as if the response were complete.
    this.request.destroy(error);
  }

  inform(status: number, fields: Readonly<Record<string, string>>): void {
    if (!this.isGone) this.request.additionalHeaders({ ":status": status, ...fields });
  }

  close(): void {
    const { onGone, onEnd, place, request } = this;
    this.closed = true;
    this.onGone = undefined;
    this.onEnd = undefined;
    if (place !== undefined) lingering.remove(place);
    // Node reports a stream that was reset before the response head as finished.
    if (this.wasCutOff || !request.writableFinished) onGone?.();
    onEnd?.();
  }

  /**
   * True if the request was cut off. Always checked at the end of a body, because Node ends the body of a reset stream
   * like any other.
   */
  protected get wasCutOff(): boolean {
    return this.request.aborted || (this.request.rstCode ?? NO_ERROR) !== NO_ERROR;
  }

  private fieldsOf(head: AnswerHead): Record<string, string | string[] | number> {
    const fields: Record<string, string | string[] | number> = headerFieldsOf(head, this.added);
    fields[":status"] = head.status;
    return this.carried === undefined ? fields : Object.assign(fields, this.carried);
  }

  /** Tells the client that the rest of its request is not read (RFC 9113 §8.1). */
  endLate(): void {
    this.place = undefined;
    if (this.request.state.state !== HALF_CLOSED_REMOTE) this.request.close(NO_ERROR);
  }

  /**
   * If the request was answered before its end arrived, drops the rest of it for a while before the stream is reset.
   */
  private endRequest(): void {
    if (this.closed) return;
    // If the declared bytes were read, no more can arrive, because Node resets a stream that exceeds its declared
    // length.
    if (!this.isTaken) this.request.resume();
    this.place = lingering.add(this);
  }
}

function sendAfterBody(stream: Http2Stream, trailers: Trailers): void {
  // Emitted after the last byte of the body.
  stream.on("wantTrailers", () => {
    if (!stream.destroyed) stream.sendTrailers(trailers);
  });
}

/**
 * Streams that were answered before the client had ended them. They are kept between `LINGER_MS` and twice that, with
 * one timer for all.
 */
class Lingering {
  private readonly streams: LinkedSet<Http2Exchange> = new LinkedSet();
  private count = 0;
  private turn = 0;
  private timer: Expiry | undefined = undefined;

  add(exchange: Http2Exchange): ListLink<Http2Exchange> {
    exchange.answeredIn = this.turn;
    if (this.count++ === 0) this.wait();
    return this.streams.add(exchange);
  }

  remove(place: ListLink<Http2Exchange>): void {
    this.streams.remove(place);
    if (--this.count === 0 && this.timer !== undefined) expiries.remove(this.timer);
  }

  private wait(): void {
    this.timer = expiries.add(LINGER_MS, () => this.endThoseOfLastTurn());
  }

  private endThoseOfLastTurn(): void {
    for (const place of this.streams) {
      const { value } = place;
      if (value.answeredIn === this.turn) break;
      this.remove(place);
      value.endLate();
    }
    this.turn++;
    if (this.count > 0) this.wait();
  }
}

const lingering = new Lingering();
