import { Metadata, RpcError } from "@quicrpc/core";
import { callFailureOf, fullName } from "@quicrpc/core/internal";
import { readEndOfStream } from "../protocol/end-of-stream.js";
import { type Envelope, EnvelopeReader, ENVELOPE_COMPRESSED, FLAG_END } from "../protocol/envelope.js";
import { readHeaders, requireSmall } from "../protocol/headers.js";
import { httpErrorOf } from "./failure.js";
import type { HttpClientCall } from "./http-call.js";

type Next = IteratorResult<unknown, undefined>;
type Reader = ReadableStreamDefaultReader<Uint8Array>;

const OVER: Next = { done: true, value: undefined };

/**
 * The items of a response, one for each `next`. Items that are not requested stay with the server, as far as `fetch`
 * applies backpressure.
 */
export class ReceivedItems implements AsyncIterableIterator<unknown, undefined> {
  responseMetadata: Metadata = new Metadata();
  trailers: Metadata = new Metadata();
  /** Called once at the end, with the error if there is one. */
  onOver: ((error: RpcError | undefined) => void) | undefined = undefined;
  private readonly call: HttpClientCall;
  private readonly answer: Promise<Response>;
  private readonly envelopes: EnvelopeReader;
  private reader: Reader | undefined = undefined;
  private coding: string | null = null;
  private isOver = false;
  /** Whether the end of the items also ends the call. */
  private settles = true;
  private failed: RpcError | undefined = undefined;
  /** Rejects the pending `next`. */
  private onFailed: ((error: RpcError) => void) | undefined = undefined;

  constructor(call: HttpClientCall, answer: Promise<Response>) {
    this.call = call;
    this.answer = answer;
    this.envelopes = new EnvelopeReader(call.client.limits.maxFrameBytes);
    answer.catch((error: unknown) => call.fail(error));
  }

  /** Calls to `next` are answered one at a time. */
  next(): Promise<Next> {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    if (this.isOver) return Promise.resolve(OVER);
    return new Promise((resolve, reject) => {
      this.onFailed = reject;
      this.read().then(resolve, (error: unknown) => this.call.fail(error));
    });
  }

  async return(): Promise<Next> {
    this.call.fail(new RpcError("cancelled", "the caller wants no more items"));
    return OVER;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Called when the call has failed: a pending `next` rejects at once. */
  fail(error: RpcError): void {
    const { method, client } = this.call;
    this.failed = callFailureOf(error, method, client.peer);
    this.onFailed?.(this.failed);
    this.onOver?.(this.failed);
  }

  /** Returns the single item of a response. Throws if there are none, or more. */
  async only(): Promise<unknown> {
    this.settles = false;
    const first = await this.next();
    const second = first.done === true ? first : await this.next();
    if (first.done !== true && second.done === true) {
      this.call.settle();
      return first.value;
    }
    const many = first.done === true ? "no message" : "more than one message";
    throw new RpcError("unimplemented", `the answer of ${fullName(this.call.method)} has ${many}, instead of one`);
  }

  private async read(): Promise<Next> {
    this.reader ??= await this.open();
    for (;;) {
      const envelope = this.call.read(() => this.envelopes.next());
      if (envelope !== undefined) return this.take(envelope, this.reader);
      const { done, value } = await this.reader.read().catch((error: unknown) => {
        throw brokenOff(this.call, RpcError.from(error).message, error);
      });
      if (done) throw brokenOff(this.call, "it ended before the message that is its end");
      this.envelopes.push(value);
    }
  }

  private async open(): Promise<Reader> {
    const { headers, body } = await this.answer;
    this.coding = headers.get("connect-content-encoding");
    this.responseMetadata = readHeaders(headers);
    return (body ?? new Blob([]).stream()).getReader();
  }

  private async take(envelope: Envelope, reader: Reader): Promise<Next> {
    const { client, method } = this.call;
    const bytes = await this.expanded(envelope);
    if ((envelope.flags & FLAG_END) !== 0) return this.end(bytes, reader);
    const value = this.call.read(() => client.decode(client.codec.of(method.output), bytes));
    return { done: false, value };
  }

  private async expanded({ flags, bytes }: Envelope): Promise<Uint8Array> {
    if ((flags & ENVELOPE_COMPRESSED) === 0 || bytes.length === 0) return bytes;
    const { client } = this.call;
    const coding = client.codings.find(({ name }) => name === this.coding);
    if (coding === undefined) {
      throw this.call.unreadable(
        new Error(`a message is compressed, and ${JSON.stringify(this.coding)} was not asked for`),
      );
    }
    return coding.decompress(bytes, client.limits.maxFrameBytes).catch((error: unknown) => {
      throw this.call.unreadable(error);
    });
  }

  private end(bytes: Uint8Array, reader: Reader): Next {
    const { call } = this;
    const { error, trailers, refused } = call.read(() => readEndOfStream(bytes));
    call.read(() => requireSmall(trailers, call.client.limits.maxMetadataBytes));
    this.trailers = trailers;
    this.isOver = true;
    call.heard(undefined, trailers);
    leave(reader);
    if (error !== undefined) {
      call.fail(httpErrorOf(call, error, "unknown", trailers, refused), "answered");
      return OVER;
    }
    if (this.settles) call.settle();
    this.onOver?.(undefined);
    return OVER;
  }
}

/** Returns the error for an incomplete response: the connection, the server or a proxy in between failed. */
function brokenOff({ method }: HttpClientCall, why: string, cause?: unknown): RpcError {
  return new RpcError("unavailable", `the answer of ${fullName(method)} is not complete: ${why}`, { cause });
}

/** Nothing may follow the end. The end of the body is read, so that its connection can be reused. */
function leave(reader: Reader): void {
  reader.read().then(
    ({ done }) => void (done || reader.cancel().catch(() => {})),
    () => {},
  );
}
