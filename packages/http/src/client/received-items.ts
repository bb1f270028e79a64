import { Metadata, RpcError } from "@quicrpc/core";
import { fullName } from "@quicrpc/core/internal";
import { readEndOfStream } from "../protocol/end-of-stream.js";
import { type Envelope, EnvelopeReader, ENVELOPE_COMPRESSED, FLAG_END } from "../protocol/envelope.js";
import { readHeaders, requireSmall } from "../protocol/headers.js";
import { httpErrorOf } from "./failure.js";
import type { HttpClientCall } from "./http-call.js";

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Iterator over the items of a response. It reads an item when `next` is called; other items stay with the server if
 * `fetch` applies backpressure. The end of the items also ends the call, unless the call has a single response.
 */
export class ReceivedItems implements AsyncIterableIterator<unknown, undefined> {
  responseMetadata: Metadata = new Metadata();
  trailers: Metadata = new Metadata();
  readonly #call: HttpClientCall;
  readonly #items: AsyncGenerator<unknown, undefined>;

  constructor(call: HttpClientCall, answer: Promise<Response>) {
    this.#call = call;
    this.#items = this.#receive(answer);
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    return this.#items.next();
  }

  /** Ends the call at once, even while a `next` is pending. */
  async return(): Promise<IteratorResult<unknown, undefined>> {
    this.#call.fail(new RpcError("cancelled", "the caller wants no more items"));
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Yields the items. If the response fails, ends the call with the error. */
  async *#receive(answer: Promise<Response>): AsyncGenerator<unknown, undefined> {
    const call = this.#call;
    const { client, method } = call;
    try {
      const { headers, body } = await answer;
      const coding = headers.get("connect-content-encoding");
      this.responseMetadata = readHeaders(headers);
      const reader = (body ?? new Blob([]).stream()).getReader();
      const envelopes = new EnvelopeReader(client.limits.maxFrameBytes);
      for (;;) {
        const envelope = call.read(() => envelopes.next());
        if (envelope === undefined) {
          envelopes.push(await readPiece(call, reader));
          continue;
        }
        const bytes = await expanded(call, envelope, coding);
        if ((envelope.flags & FLAG_END) !== 0) {
          leave(reader);
          this.#end(bytes);
          return undefined;
        }
        yield call.read(() => client.decode(client.codec.of(method.output), bytes));
      }
    } catch (error) {
      call.fail(error);
    }
    return undefined;
  }

  #end(bytes: Uint8Array): void {
    const call = this.#call;
    const { error, trailers, refused } = call.read(() => readEndOfStream(bytes));
    call.read(() => requireSmall(trailers, call.client.limits.maxMetadataBytes));
    this.trailers = trailers;
    call.heard(undefined, trailers);
    if (error !== undefined) call.fail(httpErrorOf(call, error, "unknown", trailers, refused), "answered");
    else if (call.method.kind !== "client_stream") call.settle();
  }
}

async function readPiece(call: HttpClientCall, reader: Reader): Promise<Uint8Array> {
  const { done, value } = await reader.read().catch((error: unknown) => {
    throw brokenOff(call, RpcError.from(error).message, error);
  });
  if (done) throw brokenOff(call, "it ended before the message that is its end");
  return value;
}

async function expanded(call: HttpClientCall, { flags, bytes }: Envelope, name: string | null): Promise<Uint8Array> {
  if ((flags & ENVELOPE_COMPRESSED) === 0 || bytes.length === 0) return bytes;
  const { codings, limits } = call.client;
  const coding = codings.find((coding) => coding.name === name);
  if (coding === undefined)
    throw call.unreadable(new Error(`a message is compressed, and ${JSON.stringify(name)} was not asked for`));
  return coding.decompress(bytes, limits.maxFrameBytes).catch((error: unknown) => {
    throw call.unreadable(error);
  });
}

/** Returns the error for an incomplete response: the connection, the server or a proxy has failed. */
function brokenOff({ method }: HttpClientCall, why: string, cause?: unknown): RpcError {
  return new RpcError("unavailable", `the answer of ${fullName(method)} is not complete: ${why}`, { cause });
}

/** Checks that nothing follows the end message. Reads the body to its end, so that its connection can be reused. */
function leave(reader: Reader): void {
  reader.read().then(
    ({ done }) => void (done || reader.cancel().catch(() => {})),
    () => {},
  );
}
