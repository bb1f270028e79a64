import { RpcError } from "@quicrpc/core";
import { expiries } from "@quicrpc/core/transport";
import { type ByteBody, tooLarge } from "../protocol/body.js";
import { Gathered } from "../protocol/gathered.js";
import { type AnswerBody, type AnswerHead, fieldsWith, type HttpExchange, splitAbsolute } from "./exchange.js";

/** A request of `node:http` or `node:http2`, as far as it is used. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the URL before a router has cut it. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket?: {
    readonly remoteAddress?: string | undefined;
    readonly localAddress?: string | undefined;
    readonly encrypted?: boolean | undefined;
  } | null;
  /** The stream of a request over HTTP/2. */
  readonly stream?: {
    close?(code: number): void;
    destroy?(error: Error): unknown;
    additionalHeaders?(headers: Readonly<Record<string, string | number>>): void;
    readonly rstCode?: number | undefined;
    readonly aborted?: boolean | undefined;
  };
  readonly readableEnded: boolean;
  readonly destroyed: boolean;
  readonly complete: boolean;
  readonly httpVersionMajor: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  off(event: string, listener: (...args: any[]) => void): unknown;
  read?(): Uint8Array | null;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
}

/** An answer of `node:http` or `node:http2`, as far as it is used. */
export interface NodeResponse {
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  writeHead(status: number, headers: Record<string, string | string[]>): unknown;
  flushHeaders(): void;
  write(bytes: Uint8Array): boolean;
  end(body?: Uint8Array | string): unknown;
  destroy(): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  once(event: string, listener: (...args: any[]) => void): unknown;
}

const UTF8 = new TextEncoder();
/** Milliseconds for which the rest of a request is still read once it has been answered. */
const LINGER_MS = 1000;

/** HTTP/2's code for a stream that is ended without an error. */
const NO_ERROR = 0;
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** Returns a request's target, also where a router of Express has cut its path. */
export function targetOf({ originalUrl, url }: NodeRequest): string {
  return originalUrl ?? url ?? "/";
}

/** A request of Node's servers. */
export class NodeExchange implements HttpExchange {
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  added: Readonly<Record<string, string>> | undefined = undefined;
  readonly request: NodeRequest;
  readonly target: string;
  private readonly named: string | undefined;
  private readonly response: NodeResponse;
  private made: Headers | undefined = undefined;
  /** The answer is complete, or the client is gone. */
  private closed = false;
  private drop: ((error: RpcError) => void) | undefined = undefined;

  constructor(request: NodeRequest, response: NodeResponse) {
    this.request = request;
    this.response = response;
    const given = targetOf(request);
    const absolute = splitAbsolute(given);
    this.target = absolute?.target ?? given;
    this.named = absolute?.authority;
    response.on("close", () => {
      this.closed = true;
      // Over HTTP/2 one that was reset before its head counts as finished.
      if (!response.writableEnded || !response.writableFinished) this.gone();
      const { onEnd } = this;
      this.onEnd = undefined;
      onEnd?.();
    });
    // Whatever fails, "close" follows.
    response.on("error", nothing);
    request.on("error", nothing);
  }

  get isGone(): boolean {
    return this.closed;
  }

  get method(): string {
    return this.request.method ?? "GET";
  }

  get authority(): string | undefined {
    return this.named ?? this.header(":authority") ?? this.header("host");
  }

  get isSecure(): boolean {
    return this.request.socket?.encrypted === true;
  }

  get isLoopback(): boolean {
    return LOOPBACK.test(this.request.socket?.localAddress ?? "");
  }

  get peer(): string | undefined {
    return this.request.socket?.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  get headers(): Headers {
    this.made ??= headersOf(this.request.headers);
    return this.made;
  }

  get body(): ByteBody {
    return bodyOf(this.request, this.response);
  }

  async arrivedBody(): Promise<Uint8Array | undefined> {
    const { request } = this;
    // A stream of HTTP/2 gives nothing before it is read.
    if (request.httpVersionMajor !== 1 || request.read === undefined) return undefined;
    await endOfTurn();
    if (!request.complete || request.destroyed || request.readableEnded) return undefined;
    // From Node 26 on each read gives one piece; before, all that there is.
    const gathered = new Gathered();
    for (let piece = request.read(); piece !== null; piece = request.read()) gathered.append(piece);
    return gathered.take(gathered.length);
  }

  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array> {
    const { request } = this;
    return new Promise((resolve, reject) => {
      const gathered = new Gathered();
      const over = (): void => {
        request.off("data", onData);
        request.off("end", onEnd);
        request.off("close", onClose);
        this.drop = undefined;
      };
      const fail = (error: unknown): void => {
        over();
        reject(error instanceof Error ? error : new Error(String(error)));
      };
      const onData = (piece: Uint8Array): void => {
        try {
          if (gathered.length + piece.length > maxBytes) throw tooLarge(maxBytes);
          hold(piece.length);
        } catch (error) {
          fail(error);
          // What still comes of it is dropped.
          request.resume();
          return;
        }
        gathered.append(piece);
      };
      const onEnd = (): void => {
        if (wasCutOff(request)) return;
        over();
        resolve(gathered.take(gathered.length));
      };
      const onClose = (): void => fail(cutOff());
      this.drop = (error) => {
        fail(error);
        request.resume();
      };
      request.on("data", onData);
      request.on("end", onEnd);
      request.on("close", onClose);
      if (request.destroyed && !request.readableEnded) onClose();
    });
  }

  dropBody(error: RpcError): void {
    this.drop?.(error);
  }

  respond(head: AnswerHead, body?: Uint8Array | string): void {
    const { request, response } = this;
    this.onGone = undefined;
    if (this.closed) return;
    const fields = fieldsOf(head, this.added);
    if (body !== undefined)
      fields["content-length"] = String(typeof body === "string" ? UTF8.encode(body).length : body.length);
    if (!request.complete && this.hasBody) {
      if (request.httpVersionMajor === 1) fields["connection"] = "close";
      this.endRequest();
    }
    response.writeHead(head.status, fields);
    if (this.method === "HEAD" || body === undefined) response.end();
    else response.end(body);
  }

  open(head: AnswerHead): AnswerBody {
    const { response } = this;
    if (!this.closed) {
      response.writeHead(head.status, fieldsOf(head, this.added));
      response.flushHeaders();
    }
    return new NodeBody(response, this.closed);
  }

  cutOff(error: RpcError): void {
    const { stream, httpVersionMajor } = this.request;
    // Without an error a stream of HTTP/2 would end as if that were all of the answer.
    if (httpVersionMajor > 1 && stream?.destroy !== undefined) stream.destroy(error);
    else this.response.destroy();
  }

  inform(status: number, fields: Readonly<Record<string, string>>): void {
    // Node sends no such head over HTTP/1.1.
    if (!this.closed) this.request.stream?.additionalHeaders?.({ ":status": status, ...fields });
  }

  private get hasBody(): boolean {
    if (this.request.httpVersionMajor > 1) return true;
    return (this.header("content-length") ?? "0") !== "0" || this.header("transfer-encoding") !== undefined;
  }

  /** The rest of a request that was answered before its end is dropped for a while, so that its client reads the answer, and then cut off. */
  private endRequest(): void {
    const { request } = this;
    request.resume();
    const timer = expiries.add(LINGER_MS, () => {
      // Over HTTP/2 the stream is a client's to end, or to be told that nobody reads it (RFC 9113 §8.1).
      if (request.stream?.close === undefined) request.destroy();
      else request.stream.close(NO_ERROR);
    });
    request.on("close", () => expiries.remove(timer));
  }

  private gone(): void {
    const { onGone } = this;
    this.onGone = undefined;
    onGone?.();
  }
}

/** Whoever has requests of Node's has Node's timers. */
declare function setImmediate(callback: () => void): unknown;

let turn: Promise<void> | undefined;

/** Fulfils when the platform has handed over what it has read: of TLS each record comes by itself. One timer is for all requests of a turn. */
function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}

function nothing(): void {}

function cutOff(): RpcError {
  return new RpcError("cancelled", "the request ended before its body did");
}

/** Whether a body that has ended is not all of it: Node ends that of a stream of HTTP/2 that was reset like any other. */
function wasCutOff({ httpVersionMajor, complete, stream }: NodeRequest): boolean {
  return httpVersionMajor === 1 ? !complete : stream?.aborted === true || (stream?.rstCode ?? NO_ERROR) !== NO_ERROR;
}

function headersOf(fields: NodeRequest["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    // Pseudo-headers of HTTP/2.
    if (value === undefined || name.startsWith(":")) continue;
    for (const each of typeof value === "string" ? [value] : value) {
      try {
        headers.append(name, each);
      } catch {
        // A field that WHATWG's headers do not take is no metadata either.
      }
    }
  }
  return headers;
}

/** The fields of an answer, which are its own: a head's may be those of many answers. */
function fieldsOf({ fields, metadata }: AnswerHead, added: HttpExchange["added"]): Record<string, string | string[]> {
  const own = fieldsWith(fields, added);
  if (metadata === undefined) return { ...own };
  const all: Record<string, string | string[]> = Object.assign(Object.create(null), own);
  for (const [name, value] of metadata) {
    const before = all[name];
    all[name] = before === undefined ? value : [...(typeof before === "string" ? [before] : before), value];
  }
  return all;
}

/** The body of a request as a stream, which is read no faster than it is taken. */
function bodyOf(request: NodeRequest, response: NodeResponse): ByteBody {
  let over = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = (how: () => void): void => {
          if (over) return;
          over = true;
          how();
        };
        request.on("data", (piece: Uint8Array) => {
          if (over) return;
          controller.enqueue(piece);
          if ((controller.desiredSize ?? 0) <= 0) request.pause();
        });
        request.on("end", () => end(() => (wasCutOff(request) ? controller.error(cutOff()) : controller.close())));
        const cut = (): void => end(() => controller.error(cutOff()));
        request.on("close", cut);
        response.once("close", cut);
        if (request.destroyed && !request.readableEnded) cut();
      },
      pull: () => void request.resume(),
      cancel() {
        over = true;
        // What the client still sends is dropped.
        request.resume();
      },
    },
    { highWaterMark: 64 * 1024, size: (piece) => piece?.length ?? 0 },
  );
}

/** An answer in pieces. */
class NodeBody implements AnswerBody {
  private readonly response: NodeResponse;
  private resume: (() => void) | undefined = undefined;
  private full = false;
  private closed: boolean;

  constructor(response: NodeResponse, closed: boolean) {
    this.response = response;
    this.closed = closed;
    response.on("drain", () => this.wake());
    response.on("close", () => {
      this.closed = true;
      this.wake();
    });
  }

  get ready(): boolean {
    return !this.full || this.closed;
  }

  write(bytes: Uint8Array): void {
    if (!this.closed) this.full = !this.response.write(bytes);
  }

  whenReady(resume: () => void): void {
    if (this.ready) resume();
    else this.resume = resume;
  }

  end(): void {
    if (!this.closed) this.response.end();
  }

  private wake(): void {
    const { resume } = this;
    this.full = false;
    this.resume = undefined;
    resume?.();
  }
}
