import { Received } from "../call/messages/received.js";
import type { AnyMethod, MessageCodec, PayloadWriter } from "../contract/descriptor.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";
import { measuredOutput } from "./measured-output.js";
import { observed, withOutputs } from "./observed.js";

/**
 * Durations of one call on this side, in milliseconds. What a call did not come to, or its transport or message cannot tell, is undefined: of a message that
 * is no object it is not known when it was encoded.
 */
export interface CallTimings {
  /** Until the request began to be encoded: the wait for a session, and for a place on it. Only of a caller. */
  readonly waitMs: number | undefined;
  /** Encoding the request. Only of a caller. */
  readonly encodeMs: number | undefined;
  /** From then until the answer, or its first item, had arrived: both ways on the wire, and all that the peer did. Only of a caller. */
  readonly answerMs: number | undefined;
  /** Decoding and validating the answer, or its first item. Only of a caller. */
  readonly decodeMs: number | undefined;
  /** From the first item to the last; of a handler that streams, from its return on. Undefined where nothing streams. */
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
  encoding: number | undefined = undefined;
  encoded: number | undefined = undefined;
  arrived: number | undefined = undefined;
  decoded: number | undefined = undefined;
  answered: number | undefined = undefined;
  streams = false;

  timings(): CallTimings {
    const end = performance.now();
    const items = this.decoded ?? this.answered;
    return {
      waitMs: between(this.began, this.encoding),
      encodeMs: between(this.encoding, this.encoded),
      answerMs: between(this.encoded, this.arrived),
      decodeMs: between(this.arrived, this.decoded),
      itemsMs: this.streams ? between(items, end) : undefined,
      totalMs: end - this.began,
    };
  }
}

function between(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/**
 * Calls whose message has not been encoded yet, by the message, in the order in which they were made. Messages themselves pass as they are: a
 * transport may write them in another form than the codec's.
 */
const unsent = new WeakMap<object, Marks[]>();

function awaitEncoding(input: unknown, marks: Marks): void {
  if (typeof input !== "object" || input === null) return;
  const waiting = unsent.get(input);
  if (waiting === undefined) unsent.set(input, [marks]);
  else waiting.push(marks);
}

function boxed(call: InterceptedCall, marks: Marks): InterceptedCall {
  const method = measured(call.method);
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
    const marks = typeof value === "object" && value !== null ? unsent.get(value)?.shift() : undefined;
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
