import type { RpcError } from "@quicrpc/core";
import { expiries } from "@quicrpc/core/internal";
import type { ByteBody } from "../protocol/body.js";
import { type AnswerBody, type AnswerHead, type HttpExchange, splitAbsolute } from "./exchange.js";
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
  type NodeReadable,
  type NodeWritable,
  ignore,
  whenFinished,
} from "./node-input.js";

/** The members of a `node:http` or `node:http2` request that this package uses. */
export interface NodeRequest extends NodeReadable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** The URL before an Express router has removed its own path from `url`. */
  readonly originalUrl?: string;
  readonly headers: NodeHeaders;
  readonly socket?: {
    readonly remoteAddress?: string | undefined;
    readonly localAddress?: string | undefined;
    readonly encrypted?: boolean | undefined;
    readonly destroyed?: boolean | undefined;
    on?(event: "close", listener: () => void): unknown;
  } | null;
  /** The HTTP/2 stream of the request; undefined over HTTP/1.1. */
  readonly stream?: Partial<NodeWritable> & {
    close?(code: number): void;
    destroy?(error?: Error): unknown;
    additionalHeaders?(headers: Readonly<Record<string, string | number>>): void;
    readonly rstCode?: number | undefined;
    readonly aborted?: boolean | undefined;
    readonly closed?: boolean | undefined;
    readonly destroyed?: boolean | undefined;
  };
  readonly complete: boolean;
  readonly httpVersionMajor: number;
  destroy(): unknown;
}

/** The members of a `node:http` or `node:http2` response that this package uses. */
export interface NodeResponse extends NodeWritable {
  readonly writableEnded: boolean;
  readonly destroyed?: boolean | undefined;
  /** The connection. Over HTTP/1.1, null while an earlier request of the same connection is being answered. */
  readonly socket?: object | null | undefined;
  writeHead(status: number, headers: Record<string, string | string[]>): unknown;
  flushHeaders(): void;
  end(body?: Uint8Array | string): unknown;
  addTrailers?(trailers: Record<string, string | string[]>): void;
  destroy(): unknown;
}

const NOTHING = new Uint8Array(0);
const NOW = Promise.resolve();

const NO_ERROR = 0;

/**
 * Key on a connection object for the requests whose responses wait for earlier ones. Node does not notify such requests
 * when their client has disconnected.
 */
const WAITING = Symbol("quicrpc.waiting");
type Connection = NonNullable<NodeRequest["socket"]> & { [WAITING]?: Set<NodeExchange> };

function closeWaiting(this: Connection): void {
  for (const exchange of this[WAITING] ?? []) exchange.close();
}

/**
 * Returns the target (path and query) of a request. If an Express router has shortened it, returns the original target,
 * unless `owns` accepts only the shortened one.
 */
export function requestTargetOf({ originalUrl, url }: NodeRequest, owns?: (target: string) => boolean): string {
  const whole = originalUrl ?? url ?? "/";
  if (owns === undefined || url === undefined || url === whole || owns(whole)) return whole;
  return owns(url) ? url : whole;
}

/** The exchange for a request of `node:http`, or of the compatibility API of `node:http2`. */
export class NodeExchange extends NodeInput implements HttpExchange {
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  readonly request: NodeRequest;
  readonly target: string;
  private readonly named: string | undefined;
  private readonly response: NodeResponse;
  /** True if the response is complete, or the client has disconnected. */
  private closed = false;
  /** Number of times that `arrival` was called. */
  private looks = 0;
  /** The requests on the same connection that wait to be answered; undefined if this response can be sent. */
  private waiting: Set<NodeExchange> | undefined = undefined;
  private isTaken = false;

  constructor(request: NodeRequest, response: NodeResponse, target: string = requestTargetOf(request)) {
    super(request.headers, request);
    this.request = request;
    this.response = response;
    const absolute = splitAbsolute(target);
    this.target = absolute?.target ?? target;
    this.named = absolute?.authority;
    this.endsWith(response);
    if (response.socket === null && request.httpVersionMajor === 1) this.waitOn(request.socket as Connection);
    if (request.stream?.on !== undefined) destroyWhenReset(request.stream as NodeWritable);
  }

  get isGone(): boolean {
    if (this.closed || this.response.destroyed === true) return true;
    const { stream, socket, httpVersionMajor } = this.request;
    if (httpVersionMajor === 1) return socket?.destroyed === true;
    return stream?.closed === true || stream?.destroyed === true;
  }

  get method(): string {
    return this.request.method ?? "GET";
  }

  get authority(): string | undefined {
    return this.named ?? this.header(":authority") ?? this.header("host");
  }

  get supportsTrailers(): boolean {
    return this.request.httpVersionMajor === 2 && this.response.addTrailers !== undefined;
  }

  get isSecure(): boolean {
    return this.request.socket?.encrypted === true;
  }

  get isLoopback(): boolean {
    return isLoopbackAddress(this.request.socket?.localAddress);
  }

  get peer(): string | undefined {
    return this.request.socket?.remoteAddress;
  }

  get body(): ByteBody {
    return this.bodyUntil(this.response);
  }

  arrival(): Promise<void> | undefined {
    const { request } = this;
    // A Node HTTP/2 stream delivers nothing before it is read.
    if (request.httpVersionMajor !== 1 || request.read === undefined) return undefined;
    this.looks++;
    // Most bodies arrive in one piece, together with the head or right after it.
    if (this.looks === 1) return NOW;
    return this.looks === 2 ? endOfTurn() : undefined;
  }

  arrivedBody(): Uint8Array | undefined {
    const { request } = this;
    const { readableLength: length = 0 } = request;
    if (request.destroyed || request.readableEnded) return undefined;
    // Node reports the end of a body after its last piece.
    if (!request.complete && length !== Number(this.header("content-length"))) return undefined;
    const body = length === 0 ? NOTHING : request.read?.(length);
    if (body === undefined || body === null) return undefined;
    this.isTaken = true;
    // The rest of the body is read to its end.
    request.resume();
    return body;
  }

  respond(head: AnswerHead, body?: Uint8Array | string): void {
    const { request, response } = this;
    this.onGone = undefined;
    if (this.isGone) return;
    const fields = headerFieldsOf(head, this.added);
    if (body !== undefined) fields["content-length"] = String(bodyLengthOf(body));
    const { isIncomplete } = this;
    if (isIncomplete && request.httpVersionMajor === 1) fields["connection"] = "close";
    const sentBody = this.method === "HEAD" ? undefined : body;
    if (isInPieces(sentBody, this.isSecure)) {
      if (isIncomplete) request.resume();
      response.writeHead(head.status, fields);
      const pieces = this.bodyInPieces();
      pieces.write(sentBody);
      pieces.end();
      return;
    }
    if (isIncomplete) this.endRequest();
    response.writeHead(head.status, fields);
    if (sentBody === undefined) response.end();
    else response.end(sentBody);
  }

  open(head: AnswerHead): AnswerBody {
    const { response, isGone } = this;
    if (!isGone) {
      response.writeHead(head.status, headerFieldsOf(head, this.added));
      response.flushHeaders();
    }
    return this.bodyInPieces(isGone);
  }

  private bodyInPieces(isGone: boolean = false): NodeAnswerBody {
    const { request, response } = this;
    const onEnded = (): void => {
      if (!this.isIncomplete) return;
      request.resume();
      // Over HTTP/2, the compatibility API reports the end of a response only after the request has ended too, so the
      // stream is used.
      whenFinished((request.stream as NodeWritable | undefined) ?? response, () => this.endRequest());
    };
    return new NodeAnswerBody(response, isGone, this.isSecure, onEnded, (trailers) => response.addTrailers?.(trailers));
  }

  cutOff(error: RpcError): void {
    const { stream, httpVersionMajor } = this.request;
    // If an HTTP/2 stream were destroyed without an error, it would end as if the response were complete.
    if (httpVersionMajor > 1 && stream?.destroy !== undefined) stream.destroy(error);
    else this.response.destroy();
  }

  inform(status: number, fields: Readonly<Record<string, string>>): void {
    // Node cannot send such a head over HTTP/1.1.
    if (!this.isGone) this.request.stream?.additionalHeaders?.({ ":status": status, ...fields });
  }

  close(): void {
    const { onGone, onEnd, response } = this;
    this.closed = true;
    this.waiting?.delete(this);
    this.onGone = undefined;
    this.onEnd = undefined;
    // Over HTTP/2, Node reports a stream that was reset before the response head as finished.
    if (!response.writableEnded || !response.writableFinished) onGone?.();
    onEnd?.();
  }

  /**
   * Registers this request to be notified when the connection closes. All requests of a connection share one listener.
   */
  private waitOn(connection: Connection | undefined): void {
    if (connection?.on === undefined) return;
    if (connection[WAITING] === undefined) {
      connection[WAITING] = new Set();
      connection.on("close", closeWaiting);
    }
    this.waiting = connection[WAITING].add(this);
  }

  /**
   * True if the request was cut off. Always checked at the end of a body, because Node ends the body of a reset HTTP/2
   * stream like any other.
   */
  protected get wasCutOff(): boolean {
    const { httpVersionMajor, complete, stream } = this.request;
    return httpVersionMajor === 1 ? !complete : stream?.aborted === true || (stream?.rstCode ?? NO_ERROR) !== NO_ERROR;
  }

  private get isIncomplete(): boolean {
    if (this.isTaken || this.request.complete) return false;
    if (this.request.httpVersionMajor > 1) return true;
    return (this.header("content-length") ?? "0") !== "0" || this.header("transfer-encoding") !== undefined;
  }

  /**
   * If the request was answered before its end arrived, drops the rest of it for a while, so that the client reads the
   * response, and then cuts the request off.
   */
  private endRequest(): void {
    const { request } = this;
    if (request.destroyed) return;
    request.resume();
    const timer = expiries.add(LINGER_MS, () => {
      // Over HTTP/2, either the client ends the stream, or the server tells it that the rest is not read (RFC 9113
      // §8.1).
      if (request.stream?.close === undefined) request.destroy();
      else request.stream.close(NO_ERROR);
    });
    request.on("error", ignore);
    request.on("close", () => expiries.remove(timer));
  }
}
