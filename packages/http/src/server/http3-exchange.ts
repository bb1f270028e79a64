import { RpcError } from "@quicrpc/core";
import { asError } from "@quicrpc/core/internal";
import { type ByteBody, messageTooLarge } from "../protocol/body.js";
import { Gathered } from "../protocol/gathered.js";
import { ReceivedBody } from "../protocol/received-body.js";
import { type AnswerBody, type AnswerHead, fieldsWith, type HttpExchange } from "./exchange.js";
import { bytesOfBody } from "./text-body.js";

/** The members of a plain HTTP/3 request, an `HttpRequest` of `@quicrpc/quic`, that this package uses. */
export interface Http3Request {
  readonly method: string;
  readonly authority: string;
  /** Path and query of the request. */
  readonly path: string;
  /** Header fields in the client's order, with lower-case names. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly session: {
    readonly remoteAddress: { readonly host: string };
    readonly localAddress: { readonly host: string };
  };
  readonly stream: {
    attach(handler: Http3Handler): void;
    pause(): void;
    resume(): void;
    /**
     * Sends bytes and, if `end` is true, the end of the response. Returns false if the amount of unsent data exceeds
     * the high-water mark; `onDrain` is called when it no longer does.
     */
    write(bytes: Uint8Array, end?: boolean): boolean;
    reset(code: number): void;
    stopSending(code: number): void;
  };
  respond(
    status: number,
    fields: Iterable<readonly [name: string, value: string]>,
    body?: Uint8Array,
    end?: boolean,
  ): boolean;
}

interface Http3Handler {
  /** True because the handler does not use a chunk after `onData` has returned. */
  readonly borrows: true;
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onReset(): void;
  onStopSending(): void;
  onDrain(): void;
  onSent(): void;
  onClosed(): void;
}

interface BodyReader {
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onFailed(error: RpcError): void;
}

// Error codes of HTTP/3 (RFC 9114 §8.1).
const NO_ERROR = 0x100;
const INTERNAL_ERROR = 0x102;
const REQUEST_CANCELLED = 0x10c;

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;
const NOTHING = new Uint8Array(0);

/**
 * The exchange for an HTTP/3 request. The body is not read before it is needed, so that QUIC's flow control applies
 * backpressure to the client.
 */
export class Http3Exchange implements HttpExchange {
  readonly isSecure = true;
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  added: Readonly<Record<string, string>> | undefined = undefined;
  unread: HttpExchange["unread"] = undefined;
  readonly request: Http3Request;
  private made: Headers | undefined = undefined;
  private reader: BodyReader | undefined = undefined;
  private answer: Http3Body | undefined = undefined;
  /** True if all of the body has arrived. */
  private whole = false;
  /** True if the response is complete, or the client has disconnected. */
  private closed = false;

  constructor(request: Http3Request) {
    const { stream } = request;
    this.request = request;
    stream.pause();
    stream.attach({
      borrows: true,
      onData: (chunk) => this.reader?.onData(chunk),
      onEnd: () => {
        this.whole = true;
        this.reader?.onEnd();
      },
      onReset: () => this.leave(REQUEST_CANCELLED),
      onStopSending: () => this.leave(REQUEST_CANCELLED),
      onDrain: () => this.answer?.wake(),
      onSent: () => this.close(),
      onClosed: () => this.leave(REQUEST_CANCELLED),
    });
  }

  get isGone(): boolean {
    return this.closed;
  }

  get method(): string {
    return this.request.method;
  }

  get target(): string {
    return this.request.path;
  }

  get authority(): string {
    return this.request.authority;
  }

  get isLoopback(): boolean {
    return LOOPBACK.test(this.request.session.localAddress.host);
  }

  get peer(): string {
    return this.request.session.remoteAddress.host;
  }

  header(name: string): string | undefined {
    let found: string | undefined;
    for (const [fieldName, value] of this.request.fields) {
      if (fieldName === name)
        found = found === undefined ? value : `${found}${name === "cookie" ? "; " : ", "}${value}`;
    }
    return found;
  }

  get headers(): Headers {
    this.made ??= headersOf(this.request.fields);
    return this.made;
  }

  get body(): ByteBody {
    const { stream } = this.request;
    const source = { pause: () => stream.pause(), resume: () => stream.resume(), drop: () => this.drop() };
    const body = new ReceivedBody(source, (change) => this.unread?.change(change));
    this.read({
      onData: (chunk) => body.push(chunk.slice()),
      onEnd: () => body.end(),
      onFailed: (error) => body.fail(error),
    });
    return body.stream;
  }

  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const gathered = new Gathered();
      this.read({
        onData: (chunk) => {
          try {
            if (gathered.length + chunk.length > maxBytes) throw messageTooLarge(maxBytes);
            hold(chunk.length);
          } catch (error) {
            this.drop();
            reject(asError(error));
            return;
          }
          gathered.append(chunk.slice());
        },
        onEnd: () => resolve(gathered.take(gathered.length)),
        onFailed: reject,
      });
      this.request.stream.resume();
    });
  }

  dropBody(error: RpcError): void {
    const { reader } = this;
    this.drop();
    reader?.onFailed(error);
  }

  respond(head: AnswerHead, body?: Uint8Array | string): void {
    this.onGone = undefined;
    if (this.closed) return;
    const bytes = body === undefined ? undefined : bytesOfBody(body);
    const fields = fieldsOf(head, this.added);
    if (bytes !== undefined) fields.push(["content-length", String(bytes.length)]);
    this.request.respond(head.status, fields, this.method === "HEAD" ? NOTHING : bytes, true);
    this.refuseRest();
  }

  open(head: AnswerHead): AnswerBody {
    const body = new Http3Body(this.request.stream, () => this.refuseRest());
    this.answer = body;
    if (this.closed) body.wake(true);
    else this.request.respond(head.status, fieldsOf(head, this.added));
    return body;
  }

  cutOff(): void {
    this.leave(INTERNAL_ERROR);
  }

  private read(reader: BodyReader): void {
    this.reader = reader;
    if (this.closed) this.fail();
  }

  private drop(): void {
    this.reader = undefined;
    this.request.stream.resume();
  }

  /** Asks the client to stop sending the rest of a request that was answered before its end (RFC 9114 §4.1). */
  private refuseRest(): void {
    if (!this.whole) this.request.stream.stopSending(NO_ERROR);
  }

  private fail(): void {
    const { reader } = this;
    this.reader = undefined;
    if (!this.whole) reader?.onFailed(new RpcError("cancelled", "the request ended before its body did"));
  }

  /** Called when the client has disconnected, or reads no more of the response. */
  private leave(code: number): void {
    if (this.closed) return;
    const { onGone } = this;
    this.closed = true;
    this.onGone = undefined;
    this.request.stream.stopSending(code);
    this.request.stream.reset(code);
    this.fail();
    onGone?.();
    this.close();
  }

  private close(): void {
    const { onEnd } = this;
    this.closed = true;
    this.onEnd = undefined;
    this.answer?.wake(true);
    onEnd?.();
  }
}

function headersOf(fields: Http3Request["fields"]): Headers {
  const headers = new Headers();
  for (const [name, value] of fields) {
    try {
      headers.append(name, value);
    } catch {
      // Metadata cannot contain a field that `Headers` rejects.
    }
  }
  return headers;
}

function fieldsOf({ fields, metadata }: AnswerHead, added: HttpExchange["added"]): [name: string, value: string][] {
  const sent = Array.from(metadata ?? [], ([name, value]): [string, string] => [name, value]);
  return [...Object.entries(fieldsWith(fields, added)), ...sent];
}

class Http3Body implements AnswerBody {
  private readonly stream: Http3Request["stream"];
  private readonly onEnded: () => void;
  private resume: (() => void) | undefined = undefined;
  private full = false;
  private closed = false;

  constructor(stream: Http3Request["stream"], onEnded: () => void) {
    this.stream = stream;
    this.onEnded = onEnded;
  }

  get ready(): boolean {
    return !this.full || this.closed;
  }

  write(bytes: Uint8Array): void {
    if (!this.closed) this.full = !this.stream.write(bytes);
  }

  whenReady(resume: () => void): void {
    if (this.ready) resume();
    else this.resume = resume;
  }

  end(): void {
    if (this.closed) return;
    this.stream.write(NOTHING, true);
    this.onEnded();
  }

  /** Called when the client has read enough for more data or, with `closed`, when it no longer reads. */
  wake(closed: boolean = false): void {
    const { resume } = this;
    this.closed ||= closed;
    this.full = false;
    this.resume = undefined;
    resume?.();
  }
}
