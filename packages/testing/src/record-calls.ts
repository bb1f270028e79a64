import {
  type InterceptedAnswer,
  type InterceptedCall,
  type Interceptor,
  type Metadata,
  observed,
  RpcError,
} from "@quicrpc/core";
import { checkOptions, fullName } from "@quicrpc/core/transport";
import { type Json, toJson } from "./recorded-values.js";
import type { Field, RecordedCall, Step } from "./recording.js";

/** Options of `recordCalls`. */
export interface RecordOptions {
  /** Characters of the messages that are kept. Past them the recording is of no use, and says so. Default: 16 Mi. */
  readonly maxLength?: number;
}

/** Records calls. */
export interface CallRecorder {
  /** Stands around the calls that are recorded: the last of `interceptCaller`. */
  readonly interceptor: Interceptor;
  /**
   * Returns the calls so far as JSON, for a file and `replayCalls`. Metadata that callers send is left out: it may say who they are. Throws `RangeError`
   * where they were more than `maxLength`.
   */
  text(): string;
}

/**
 * Records what calls carry, as their caller sees it: `interceptCaller(connection, [recorder.interceptor])`, over any kind of session. Calls whose messages
 * have blobs are refused.
 */
export function recordCalls(options: RecordOptions = {}): CallRecorder {
  checkOptions("recordCalls()", options, { maxLength: true });
  const { maxLength = 16 * 1024 * 1024 } = options;
  const calls: RecordedCall[] = [];
  let length = 0;
  const hasRoom: HasRoom = (json) => (length += JSON.stringify(json).length) <= maxLength;
  return {
    interceptor: async (call, next) => {
      const method = fullName(call.method);
      if (call.method.blobs !== undefined) {
        throw new RpcError("unimplemented", `${method} carries blobs, which a recording does not keep`);
      }
      const made = new CallInProgress(method, call.method.fingerprint, hasRoom);
      if (hasRoom(method)) calls.push(made.call);
      const { inputs } = call;
      if (inputs === undefined) made.keep({ in: toJson(call.input) });
      try {
        return followed(await next(inputs === undefined ? call : { ...call, inputs: noted(inputs, made) }), call, made);
      } catch (error) {
        made.end(RpcError.from(error));
        throw error;
      }
    },
    text() {
      if (length <= maxLength) return `${JSON.stringify({ version: 1, calls }, undefined, 1)}\n`;
      throw new RangeError(
        `the calls carried more than ${maxLength} characters: record fewer, or give recordCalls a larger maxLength`,
      );
    },
  };
}

/** Counts what is kept. Returns whether there is room for it. */
type HasRoom = (json: Json) => boolean;

/** A call that is being recorded. */
class CallInProgress {
  readonly call: RecordedCall;
  private readonly hasRoom: HasRoom;

  constructor(method: string, fingerprint: number | undefined, hasRoom: HasRoom) {
    this.call = { method, fingerprint, steps: [], isOver: false };
    this.hasRoom = hasRoom;
  }

  /** Keeps a step of the call. One after its end, such as a message that is no longer read, is left out. */
  keep(step: Step): void {
    if (!this.call.isOver && this.hasRoom(step)) this.call.steps.push(step);
  }

  keepMetadata(answer: InterceptedAnswer): void {
    const [metadata, trailers] = [fieldsOf(answer.responseMetadata), fieldsOf(answer.trailers)];
    if (this.hasRoom([metadata, trailers])) Object.assign(this.call, { metadata, trailers });
  }

  end(error: RpcError | undefined): void {
    this.call.isOver = true;
    if (error === undefined) return;
    const { code, message, reason, details, metadata } = error;
    const recorded = {
      code,
      message,
      ...(reason !== undefined && { reason }),
      details: toJson(details),
      trailers: fieldsOf(metadata),
    };
    if (this.hasRoom(recorded)) this.call.error = recorded;
  }
}

/** Notes an answer, and when it is over. */
function followed(answer: InterceptedAnswer, { method }: InterceptedCall, made: CallInProgress): InterceptedAnswer {
  const keep = (output: unknown): void => made.keep({ out: toJson(output) });
  if (answer.outputs === undefined && method.kind !== "notify") keep(answer.output);
  return observed(answer, {
    onItem: keep,
    onOver: (error) => {
      made.keepMetadata(answer);
      made.end(error);
    },
  });
}

/** The caller's messages, each noted when it is taken. No generator: leaving reaches their producer at once. */
function noted(items: AsyncIterable<unknown>, made: CallInProgress): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = items[Symbol.asyncIterator]();
      return {
        next: async () => {
          const taken = await iterator.next();
          made.keep(taken.done === true ? { end: true } : { in: toJson(taken.value) });
          return taken;
        },
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function fieldsOf(metadata: Metadata): Field[] {
  return Array.from(metadata, ([name, value]): [string, Json] => [name, toJson(value)]);
}
