import { Received } from "../call/messages/received.js";
import type { BlobCode } from "../contract/blob-code.js";
import type { AnyMethod, MessageCodec, PayloadWriter } from "../contract/descriptor.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";
import { measuredOutput } from "./measured-output.js";
import { observed, withOutputs } from "./observed.js";

/**
 * Durations of one call on this side, in milliseconds. What a call did not come to, or its transport or message cannot tell, is undefined: of a message that
 * is no object it is not known when it was encoded.
 */
export interface CallTimings {
  /** Time until the request began to be encoded, or a blob of it to be sent: the wait for a session, and for a place on it. Only of a caller. */
  readonly waitMs: number | undefined;
  /**
   * Time from the first bytes of the request's blobs that were sent to the last: over HTTP before the request is encoded, in a session meanwhile the answer is
   * waited for. Only of a caller, and undefined where it sent none.
   */
  readonly uploadMs: number | undefined;
  /** Bytes, rather than milliseconds: how far the request's blobs were sent, with what attempts before had sent of them. Undefined where `uploadMs` is. */
  readonly uploadBytes: number | undefined;
  /** Whether the request's blobs were sent before it was encoded, as over HTTP. Undefined where `uploadMs` is. */
  readonly uploadedFirst: boolean | undefined;
  /** Encoding the request. Only of a caller. */
  readonly encodeMs: number | undefined;
  /** Time from then until the answer, or its first item, had arrived: both ways on the wire, and all that the peer did. Only of a caller. */
  readonly answerMs: number | undefined;
  /** Decoding and validating the answer, or its first item. Only of a caller. */
  readonly decodeMs: number | undefined;
  /** Time from the first item to the last; of a handler that streams, from its return on. Undefined where nothing streams. */
  readonly itemsMs: number | undefined;
  /** The whole call; of a callee, its handler and the items of it. */
  readonly totalMs: number;
}

/**
 * Tells the durations of each call when it is over. Answers reach it in boxes from the codec, so it stands last among a caller's
 * interceptors: `interceptCaller(connection, [retry(), callTimings(show)])`. Calls without it are not measured and cost nothing.
 */
export function callTimings(onTimings: (timings: CallTimings, call: InterceptedCall) => void): Interceptor {
  return async (call, next) => {
    const marks = new Marks();
    const onOver = (): void => onTimings(marks.timings(), call);
    try {
      const given = await next(call.side === "caller" ? boxed(call, marks) : call);
      marks.answered ??= performance.now();
      const answer =
        given.outputs === undefined
          ? {
              responseMetadata: given.responseMetadata,
              trailers: given.trailers,
              output: unboxed(given.output, marks),
              outputs: undefined,
            }
          : withOutputs(given, unboxedItems(given.outputs, marks));
      return observed(answer, { onOver });
    } catch (error) {
      onOver();
      throw error;
    }
  };
}

/** Points in time of one call, by `performance.now()`. */
class Marks {
  readonly began: number = performance.now();
  uploading: number | undefined = undefined;
  uploaded: number | undefined = undefined;
  /** How far each of the request's blobs was sent, by its field; undefined where it has none. */
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

/** Passes on a request with blobs, as a copy that tells when their bytes are sent. What it is encoded from is a copy again, which has the key. */
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
 * Calls whose message has not been encoded yet, by the message, in the order in which they were made. Messages themselves pass as they are: a
 * transport may write them in another form than the codec's.
 */
const unsent = new WeakMap<object, Marks[]>();

/** Key of the marks of a call in its message, of which blobs make it a copy. */
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

/** No generator: leaving must reach the producer at once, even while a `next` is pending. */
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

/** Methods that measure, by those that do not. One for each, since sessions remember methods. */
const methods = new WeakMap<AnyMethod, AnyMethod>();

function measured(method: AnyMethod): AnyMethod {
  let made = methods.get(method);
  if (made === undefined) {
    const { input, output, cursor } = method;
    made = {
      ...method,
      ...(input !== undefined && input.bytes !== true && { input: measuredInput(input) }),
      // The session itself reads the items that have cursors.
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
