import { Received } from "../call/messages/payload.js";
import type { BlobCode } from "../contract/blob-code.js";
import type { AnyMethod, MessageCodec, PayloadWriter } from "../contract/descriptor.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";
import { observeResponse, withResponseMessages } from "./observed.js";

/**
 * Durations of one call, measured on this side, in milliseconds. A value is undefined if the call did not reach that
 * stage, or if it cannot be measured: for example `encodeMs` if the message is not an object.
 */
export interface CallTimings {
  /**
   * Time from the start of the call until the request is encoded or its blobs are sent: the wait for a session, or for
   * another call to end. Callers only.
   */
  readonly waitMs: number | undefined;
  /**
   * Time from the first sent byte of the request's blobs to the last one. Over HTTP, blobs are sent before the request
   * is encoded; in a session, while the caller waits for the response. Callers only; undefined if no blobs were sent.
   */
  readonly uploadMs: number | undefined;
  /** Number of bytes (not milliseconds) of the request's blobs that were sent. Undefined if `uploadMs` is. */
  readonly uploadBytes: number | undefined;
  /** Whether the request's blobs were sent before the request was encoded, as over HTTP. Undefined if `uploadMs` is. */
  readonly uploadedFirst: boolean | undefined;
  /** Time to encode the request. Callers only. */
  readonly encodeMs: number | undefined;
  /**
   * Time from the end of encoding until the response, or its first item, arrived: network time in both directions, and
   * all work of the peer. Callers only.
   */
  readonly answerMs: number | undefined;
  /** Time to decode and validate the response, or its first item. Callers only. */
  readonly decodeMs: number | undefined;
  /**
   * Time from the first item to the last one. On the callee's side: from the return of the handler to its last item.
   * Undefined if the response is not a stream.
   */
  readonly itemsMs: number | undefined;
  /** Duration of the whole call. On the callee's side: of the handler and its items. */
  readonly totalMs: number;
}

/**
 * Returns an interceptor that calls `onTimings` with the durations of each call when it has ended. In a caller it must
 * be the last interceptor, because it changes the responses that the codec returns: `interceptCaller(connection,
 * [retry(), callTimings(show)])`.
 */
export function callTimings(onTimings: (timings: CallTimings, call: InterceptedCall) => void): Interceptor {
  return async (call, next) => {
    const marks = new Marks();
    const onOver = (): void => onTimings(marks.timings(), call);
    try {
      const received = await next(call.side === "caller" ? boxed(call, marks) : call);
      marks.answered ??= performance.now();
      const response =
        received.outputs === undefined
          ? {
              responseMetadata: received.responseMetadata,
              trailers: received.trailers,
              output: unboxed(received.output, marks),
              outputs: undefined,
            }
          : withResponseMessages(received, unboxedItems(received.outputs, marks));
      return observeResponse(response, { onOver });
    } catch (error) {
      onOver();
      throw error;
    }
  };
}

/** Times at which one call reached its stages, from `performance.now()`. */
class Marks {
  readonly began: number = performance.now();
  uploading: number | undefined = undefined;
  uploaded: number | undefined = undefined;
  /** Number of bytes sent of each blob of the request, by field; undefined if it has none. */
  sent: Map<string, number> | undefined = undefined;
  encoding: number | undefined = undefined;
  encoded: number | undefined = undefined;
  arrived: number | undefined = undefined;
  decoded: number | undefined = undefined;
  answered: number | undefined = undefined;
  streams = false;

  timings(): CallTimings {
    const end = performance.now();
    const items = this.decoded ?? this.answered;
    const { uploading = Infinity, encoding = Infinity, sent } = this;
    const remainingMs = Math.min(uploading, encoding);
    return {
      waitMs: remainingMs === Infinity ? undefined : remainingMs - this.began,
      uploadMs: between(this.uploading, this.uploaded),
      uploadBytes: sent && [...sent.values()].reduce((sum, bytes) => sum + bytes, 0),
      uploadedFirst: this.uploading === undefined ? undefined : uploading < encoding,
      encodeMs: between(this.encoding, this.encoded),
      answerMs: between(this.encoded, this.arrived),
      decodeMs: between(this.arrived, this.decoded),
      itemsMs: this.streams ? between(items, end) : undefined,
      totalMs: end - this.began,
    };
  }
}

/**
 * Returns a copy of a request with blobs that reports when their bytes are sent. The copy that the transport makes of
 * it keeps the key `MARKS`.
 */
function watched(call: InterceptedCall, blobs: BlobCode, marks: Marks): object {
  const copy = blobs.observed(call.input, (field, bytes) => {
    marks.uploaded = performance.now();
    marks.uploading ??= marks.uploaded;
    marks.sent ??= new Map();
    marks.sent.set(field, bytes);
  });
  return Object.assign(copy, { [MARKS]: marks });
}

function between(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/**
 * Times of calls whose message is not encoded yet, by message, in the order of the calls. A separate map, because the
 * message must stay unchanged: a transport may encode it without the codec.
 */
const unsent = new WeakMap<object, Marks[]>();

/** Key under which a message with blobs stores the times of its call. Copies of the message keep it. */
const MARKS: unique symbol = Symbol("quicrpc.marks");

function marksOf(message: { readonly [MARKS]?: Marks }): Marks | undefined {
  return message[MARKS] ?? unsent.get(message)?.shift();
}

function awaitEncoding(input: unknown, marks: Marks): void {
  if (typeof input !== "object" || input === null) return;
  const waiting = unsent.get(input);
  if (waiting === undefined) unsent.set(input, [marks]);
  else waiting.push(marks);
}

function boxed(call: InterceptedCall, marks: Marks): InterceptedCall {
  const method = measured(call.method);
  const { blobs } = call.method;
  if (blobs?.fields.input !== undefined && typeof call.input === "object" && call.input !== null)
    return { ...call, method, input: watched(call, blobs, marks) };
  if (method.input !== call.method.input) awaitEncoding(call.input, marks);
  return { ...call, method };
}

function unboxed(output: unknown, marks: Marks): unknown {
  if (!(output instanceof Received)) return output;
  marks.arrived ??= output.arrived;
  marks.decoded ??= output.decoded;
  return output.value;
}

/**
 * Returns the items without their times. It is not a generator, because `return` must reach the producer at once, even
 * while a `next` is pending.
 */
function unboxedItems(items: AsyncIterable<unknown>, marks: Marks): AsyncIterable<unknown> {
  marks.streams = true;
  return {
    [Symbol.asyncIterator]() {
      const iterator = items[Symbol.asyncIterator]();
      return {
        next: async () => {
          const { done, value } = await iterator.next();
          return done === true ? { done, value: undefined } : { done: false, value: unboxed(value, marks) };
        },
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/**
 * Method descriptors that measure calls, by the original descriptor. They are cached, because sessions identify methods
 * by their descriptors.
 */
const methods = new WeakMap<AnyMethod, AnyMethod>();

function measured(method: AnyMethod): AnyMethod {
  let timed = methods.get(method);
  if (timed === undefined) {
    const { input, output, cursor } = method;
    timed = {
      ...method,
      ...(input !== undefined && input.bytes !== true && { input: measuredInput(input) }),
      // Items with cursors are not wrapped, because the session reads their fields.
      ...(output !== undefined && output.bytes !== true && cursor === undefined && { output: measuredOutput(output) }),
    } as AnyMethod;
    methods.set(method, timed);
  }
  return timed;
}

function measuredInput(codec: MessageCodec<unknown>): MessageCodec<unknown> {
  const measure = <T>(value: unknown, encode: (value: unknown) => T): T => {
    const marks = typeof value === "object" && value !== null ? marksOf(value) : undefined;
    if (marks === undefined) return encode(value);
    marks.encoding = performance.now();
    const result = encode(value);
    marks.encoded = performance.now();
    return result;
  };
  const { plain } = codec;
  return {
    ...codec,
    encode: (value: unknown, out: PayloadWriter) => measure(value, (inner) => codec.encode(inner, out)),
    decode: codec.decode.bind(codec),
    ...(plain !== undefined && {
      plain: { encode: (value: unknown) => measure(value, plain.encode.bind(plain)), decode: plain.decode.bind(plain) },
    }),
  };
}

/** Returns a codec that decodes each message to a `Received`, which also contains its arrival time. */
export function measuredOutput(codec: MessageCodec<unknown>): MessageCodec<unknown> {
  const { plain } = codec;
  const measure = (decode: () => unknown): Received => {
    const arrived = performance.now();
    const value = decode();
    return new Received(value, arrived, performance.now());
  };
  return {
    ...codec,
    encode: codec.encode.bind(codec),
    decode: (bytes, start, end) => measure(() => codec.decode(bytes, start, end)),
    ...(plain !== undefined && {
      plain: { encode: plain.encode.bind(plain), decode: (value: unknown) => measure(() => plain.decode(value)) },
    }),
  };
}
