import { Received } from "../call/messages/payload.js";
import type { BlobCode } from "../contract/blob-code.js";
import type { AnyMethod, MessageCodec, PayloadWriter } from "../contract/descriptor.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";
import { observeResponse, withResponseMessages } from "./observed.js";

/**
 * Durations of one call on this side, in milliseconds. A value is undefined if the call did not get that far, or if it
 * cannot be measured; for example, `encodeMs` of a message that is not an object.
 */
export interface CallTimings {
  /**
   * Time until encoding of the request started, or sending of its blobs: the wait for a session, and for a free place
   * on it. Callers only.
   */
  readonly waitMs: number | undefined;
  /**
   * Time from the first sent byte of the request's blobs to the last. Over HTTP this precedes encoding; in a session it
   * overlaps the wait for the response. Callers only; undefined if no blobs were sent.
   */
  readonly uploadMs: number | undefined;
  /** Bytes (not milliseconds) of the request's blobs that were sent, including earlier attempts. Undefined if `uploadMs` is. */
  readonly uploadBytes: number | undefined;
  /** Whether the request's blobs were sent before it was encoded, as over HTTP. Undefined if `uploadMs` is. */
  readonly uploadedFirst: boolean | undefined;
  /** Time to encode the request. Callers only. */
  readonly encodeMs: number | undefined;
  /** Time from then until the response, or its first item, arrived: both directions on the wire, and all work of the peer. Callers only. */
  readonly answerMs: number | undefined;
  /** Time to decode and validate the response, or its first item. Callers only. */
  readonly decodeMs: number | undefined;
  /** Time from the first item to the last; for a handler that streams, from its return. Undefined if nothing is streamed. */
  readonly itemsMs: number | undefined;
  /** Duration of the whole call; on the callee's side, of the handler and its items. */
  readonly totalMs: number;
}

/**
 * Returns an interceptor that reports the durations of each call when it is over. It must be the last interceptor of a
 * caller, because it changes the responses that the codec returns: `interceptCaller(connection, [retry(),
 * callTimings(show)])`. Calls without it are not measured and have no extra cost.
 */
export function callTimings(onTimings: (timings: CallTimings, call: InterceptedCall) => void): Interceptor {
  return async (call, next) => {
    const marks = new Marks();
    const onOver = (): void => onTimings(marks.timings(), call);
    try {
      const received = await next(call.side === "caller" ? boxed(call, marks) : call);
      marks.answered ??= performance.now();
      const answer =
        received.outputs === undefined
          ? {
              responseMetadata: received.responseMetadata,
              trailers: received.trailers,
              output: unboxed(received.output, marks),
              outputs: undefined,
            }
          : withResponseMessages(received, unboxedItems(received.outputs, marks));
      return observeResponse(answer, { onOver });
    } catch (error) {
      onOver();
      throw error;
    }
  };
}

/** Times of the stages of one call, from `performance.now()`. */
class Marks {
  readonly began: number = performance.now();
  uploading: number | undefined = undefined;
  uploaded: number | undefined = undefined;
  /** Bytes sent of each of the request's blobs, by field; undefined if it has none. */
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
    const left = Math.min(uploading, encoding);
    return {
      waitMs: left === Infinity ? undefined : left - this.began,
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
 * Copies a request with blobs, so that it reports when their bytes are sent. The transport encodes another copy, which
 * contains the key.
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
 * Calls whose message has not been encoded yet, by message, in the order in which they were made. Messages are passed
 * on unchanged, because a transport may encode them without the codec.
 */
const unsent = new WeakMap<object, Marks[]>();

/** Key of a call's marks in its message. It is kept when a message with blobs is copied. */
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

/** Not a generator: `return` must reach the producer at once, even while a `next` is pending. */
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

/** Measuring methods, by the original method. They are cached because sessions remember methods by identity. */
const methods = new WeakMap<AnyMethod, AnyMethod>();

function measured(method: AnyMethod): AnyMethod {
  let made = methods.get(method);
  if (made === undefined) {
    const { input, output, cursor } = method;
    made = {
      ...method,
      ...(input !== undefined && input.bytes !== true && { input: measuredInput(input) }),
      // Items with cursors are left alone, because the session reads their fields.
      ...(output !== undefined && output.bytes !== true && cursor === undefined && { output: measuredOutput(output) }),
    } as AnyMethod;
    methods.set(method, made);
  }
  return made;
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

/** Returns a codec that wraps each decoded message together with its arrival time. */
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
