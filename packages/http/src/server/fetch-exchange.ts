import type { RpcError } from "@quicrpc/core";
import { type ByteBody, readBody } from "../protocol/body.js";
import { statusOf } from "../protocol/codes.js";
import { type AnswerBody, type AnswerHead, fieldsWith, type HttpExchange } from "./exchange.js";

/** HTTP status that nginx uses for a client that has disconnected. */
const CLIENT_GONE = 499;
/** Number of unread bytes of a response above which its sender is paused. */
const HIGH_WATER_BYTES = 64 * 1024;

/** The exchange for a `fetch` request. `response` resolves to its response. */
export class FetchExchange implements HttpExchange {
  readonly target: string;
  readonly authority: string;
  readonly peer: string | undefined;
  readonly response: Promise<Response>;
  readonly isSecure: boolean;
  /** False, because a `Request` does not contain the server's address. */
  readonly isLoopback: boolean = false;
  onGone: (() => void) | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  added: Readonly<Record<string, string>> | undefined = undefined;
  /** Not used, because the platform buffers received data. */
  unread: HttpExchange["unread"] = undefined;
  readonly request: Request;
  private answer!: (response: Response) => void;
  private streamed: StreamBody | undefined = undefined;
  private drop: ((error: RpcError) => void) | undefined = undefined;

  constructor(request: Request, peer: string | undefined) {
    this.request = request;
    this.peer = peer;
    const { pathname, search, host, protocol } = new URL(request.url);
    this.isSecure = protocol === "https:";
    this.authority = host;
    this.target = pathname + search;
    this.response = new Promise((resolve) => (this.answer = resolve));
    const onAbort = (): void => {
      this.gone();
      // No client reads this response, but the code that called the handler waits for it.
      this.answer(new Response(null, { status: CLIENT_GONE }));
    };
    if (request.signal.aborted) onAbort();
    else request.signal.addEventListener("abort", onAbort, { once: true });
  }

  get method(): string {
    return this.request.method;
  }

  get headers(): Headers {
    return this.request.headers;
  }

  get body(): ByteBody | null {
    return this.request.body;
  }

  get isGone(): boolean {
    return this.request.signal.aborted;
  }

  dropBody(error: RpcError): void {
    this.drop?.(error);
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined;
  }

  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array> {
    return readBody(this.request.body, maxBytes, { hold, droppable: (drop) => (this.drop = drop) });
  }

  respond(head: AnswerHead, body?: Uint8Array | string): void {
    this.onGone = undefined;
    const whole = this.request.method === "HEAD" ? undefined : body;
    this.answer(
      new Response(whole as BodyInit | undefined, { status: head.status, headers: headersOf(head, this.added) }),
    );
    this.ended();
  }

  open(head: AnswerHead): AnswerBody {
    const body = new StreamBody(
      () => this.gone(),
      () => this.ended(),
    );
    this.streamed = body;
    this.answer(new Response(body.stream as BodyInit, { status: head.status, headers: headersOf(head, this.added) }));
    return body;
  }

  cutOff(error: RpcError): void {
    this.streamed?.fail(error);
    // The code that called the handler waits for a response, unless it has one already.
    this.answer(new Response(null, { status: statusOf(error.code) }));
    this.ended();
  }

  private gone(): void {
    const { onGone } = this;
    this.onGone = undefined;
    onGone?.();
    this.ended();
  }

  private ended(): void {
    const { onEnd } = this;
    this.onEnd = undefined;
    onEnd?.();
  }
}

function headersOf({ fields, metadata }: AnswerHead, added: HttpExchange["added"]): Headers {
  const headers = new Headers(metadata && [...metadata].map(([name, value]): [string, string] => [name, value]));
  for (const [name, value] of Object.entries(fieldsWith(fields, added))) headers.set(name, value);
  return headers;
}

class StreamBody implements AnswerBody {
  readonly stream: ByteBody;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private resume: (() => void) | undefined = undefined;
  private over = false;
  private readonly onEnded: () => void;

  constructor(onCancelled: () => void, onEnded: () => void) {
    this.onEnded = onEnded;
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => void (this.controller = controller),
      pull: () => this.wake(),
      cancel: () => {
        this.over = true;
        onCancelled();
        this.wake();
      },
    };
    const size = (bytes: Uint8Array | undefined): number => bytes?.length ?? 0;
    this.stream = new ReadableStream(source, { highWaterMark: HIGH_WATER_BYTES, size });
  }

  get ready(): boolean {
    return this.over || (this.controller.desiredSize ?? 0) > 0;
  }

  write(bytes: Uint8Array): void {
    if (!this.over) this.controller.enqueue(bytes);
  }

  whenReady(resume: () => void): void {
    this.resume = resume;
    if (this.ready) this.wake();
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.controller.close();
    this.onEnded();
  }

  fail(error: RpcError): void {
    if (this.over) return;
    this.over = true;
    this.controller.error(error);
    this.wake();
  }

  private wake(): void {
    const { resume } = this;
    this.resume = undefined;
    resume?.();
  }
}
