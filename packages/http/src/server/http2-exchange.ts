import type { RpcError } from "@quicrpc/core";
import { expiries } from "@quicrpc/core/transport";
import type { ByteBody } from "../protocol/body.js";
import { Gathered } from "../protocol/gathered.js";
import { type AnswerBody, type AnswerHead, type HttpExchange, splitAbsolute } from "./exchange.js";
import {
  endOfTurn,
  fieldsOf,
  isLoopbackAddress,
  LINGER_MS,
  NodeBody,
  type NodeHeaders,
  NodeInput,
  type NodeReadable,
  type NodeWritable,
  nothing,
  whenFinished,
} from "./node-input.js";

/** A stream of a server of `node:http2`, as far as it is used. */
export interface Http2Stream extends NodeReadable, NodeWritable {
  readonly session?:
    | {
        readonly encrypted?: boolean | undefined;
        readonly socket: { readonly remoteAddress?: string | undefined; readonly localAddress?: string | undefined };
      }
    | undefined;
  readonly rstCode?: number | undefined;
  readonly aborted: boolean;
  read(): Uint8Array | null;
  unshift(piece: Uint8Array): void;
  respond(fields: Record<string, string | string[] | number>, options?: { readonly endStream?: boolean }): void;
  end(body?: Uint8Array | string): unknown;
  close(code: number): void;
  destroy(error?: Error): unknown;
  additionalHeaders(fields: Readonly<Record<string, string | number>>): void;
}

const UTF8 = new TextEncoder();
/** HTTP/2's code for a stream that is ended without an error. */
const NO_ERROR = 0;
/** Bytes of a body up to which it is worth a look whether all of it is there. */
const MAX_ARRIVED = 16_384;

/**
 * A stream's exchange stands in the stream until that is closed: Node's table of streams may keep dead ones alive until a full collection of
 * garbage, and with them whatever they refer to.
 */
const EXCHANGE = Symbol("quicrpc.exchange");
type Owner = { [EXCHANGE]: Http2Exchange | undefined };

function onClose(this: unknown): void {
  const stream = this as Owner;
  const exchange = stream[EXCHANGE];
  stream[EXCHANGE] = undefined;
  exchange?.close();
}

/** A request that came as a stream of HTTP/2, without Node's objects of HTTP/1.1 around it. */
export class Http2Exchange extends NodeInput implements HttpExchange {
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  readonly request: Http2Stream;
  readonly target: string;
  private readonly named: string | undefined;
  /** Fields of the answer that the server which carries the stream adds. */
  private readonly carried: Readonly<Record<string, string>> | undefined;
  /** Ends a stream whose client has its answer and goes on sending. */
  private linger: ReturnType<typeof expiries.add> | undefined = undefined;
  private closed = false;

  constructor(stream: Http2Stream, fields: NodeHeaders, carried: Readonly<Record<string, string>> | undefined) {
    super(fields, stream);
    this.request = stream;
    this.carried = carried;
    const given = String(fields[":path"] ?? "/");
    const absolute = splitAbsolute(given);
    this.target = absolute?.target ?? given;
    this.named = absolute?.authority;
    (stream as unknown as Owner)[EXCHANGE] = this;
    stream.on("close", onClose);
    // Whatever fails, "close" follows.
    stream.on("error", nothing);
  }

  get isGone(): boolean {
    return this.closed;
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

  async arrivedBody(): Promise<Uint8Array | undefined> {
    const stream = this.request;
    const length = Number(this.header("content-length"));
    if (!(length <= MAX_ARRIVED)) return undefined;
    // A stream hands nothing over before it is read.
    const gathered = new Gathered();
    const take = (): boolean => {
      for (let piece = stream.read(); piece !== null; piece = stream.read()) gathered.append(piece);
      return gathered.length === length;
    };
    if (!take()) {
      await endOfTurn();
      if (stream.destroyed || stream.readableEnded) return undefined;
      if (!take()) {
        // Another reads on from its beginning.
        if (gathered.length > 0) stream.unshift(gathered.take(gathered.length));
        return undefined;
      }
    }
    // Of what follows there can be no more than the stream's end: Node resets a stream that sends more than its length.
    stream.resume();
    return gathered.take(length);
  }

  respond(head: AnswerHead, body?: Uint8Array | string): void {
    const stream = this.request;
    this.onGone = undefined;
    if (this.closed) return;
    const fields = this.fieldsOf(head);
    if (body !== undefined)
      fields["content-length"] = String(typeof body === "string" ? UTF8.encode(body).length : body.length);
    if (!stream.readableEnded) this.endRequest();
    const endStream = body === undefined || this.method === "HEAD";
    stream.respond(fields, endStream ? { endStream } : undefined);
    if (!endStream) stream.end(body);
  }

  open(head: AnswerHead): AnswerBody {
    if (!this.closed) this.request.respond(this.fieldsOf(head));
    return new NodeBody(this.request, this.closed, () => {
      if (this.request.readableEnded) return;
      this.request.resume();
      whenFinished(this.request, () => {
        if (!this.closed) this.endRequest();
      });
    });
  }

  cutOff(error: RpcError): void {
    // Without an error it would end as if that were all of the answer.
    this.request.destroy(error);
  }

  inform(status: number, fields: Readonly<Record<string, string>>): void {
    if (!this.closed) this.request.additionalHeaders({ ":status": status, ...fields });
  }

  /** The stream is over. */
  close(): void {
    const { onGone, onEnd, linger, request } = this;
    this.closed = true;
    this.onGone = undefined;
    this.onEnd = undefined;
    if (linger !== undefined) expiries.remove(linger);
    // One that was reset before its head counts as finished.
    if (this.wasCutOff || !request.writableFinished) onGone?.();
    onEnd?.();
  }

  /** Node ends the body of a stream that was reset like any other. */
  protected get wasCutOff(): boolean {
    return this.request.aborted || (this.request.rstCode ?? NO_ERROR) !== NO_ERROR;
  }

  private fieldsOf(head: AnswerHead): Record<string, string | string[] | number> {
    return { ":status": head.status, ...fieldsOf(head, this.added), ...this.carried };
  }

  /** What still comes of a request that was answered before its end is dropped for a while, until its client is told that nobody reads it (RFC 9113 §8.1). */
  private endRequest(): void {
    const stream = this.request;
    if (this.closed) return;
    stream.resume();
    this.linger = expiries.add(LINGER_MS, () => stream.close(NO_ERROR));
  }
}
