import {
  type InterceptedResponse,
  type InterceptedCall,
  type Interceptor,
  type Metadata,
  observeResponse,
  RpcError,
} from "@quicrpc/core";
import { checkOptions, fullName } from "@quicrpc/core/internal";
import { type RecordedJson, toJson, type RecordedField, type RecordedCall, type Step } from "./recording.js";

/** Options of `recordCalls`. */
export interface RecordOptions {
  /**
   * Maximum length of the recorded messages in characters. A longer recording cannot be used, and `text()` throws.
   * Default: 16 Mi.
   */
  readonly maxLength?: number;
}

/** Records calls. */
export interface CallRecorder {
  /** Records the calls. Pass it to `interceptCaller` as the last interceptor. */
  readonly interceptor: Interceptor;
  /**
   * Returns the calls so far as JSON, for a file and `replayCalls`. Metadata of requests is left out because it may
   * contain credentials. Throws `RangeError` if the recording exceeds `maxLength`.
   */
  text(): string;
}

/**
 * Records the messages of calls as their caller sees them: `interceptCaller(connection, [recorder.interceptor])`, over
 * any kind of session. Refuses calls with blobs.
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
        throw new RpcError("unimplemented", `${method} has blobs, which cannot be recorded`);
      }
      const recording = new CallInProgress(method, call.method.fingerprint, hasRoom);
      if (hasRoom(method)) calls.push(recording.call);
      const { inputs } = call;
      if (inputs === undefined) recording.record({ in: toJson(call.input) });
      try {
        return followed(
          await next(inputs === undefined ? call : { ...call, inputs: recordInputs(inputs, recording) }),
          call,
          recording,
        );
      } catch (error) {
        recording.end(RpcError.from(error));
        throw error;
      }
    },
    text() {
      if (length <= maxLength) return `${JSON.stringify({ version: 2, calls }, undefined, 1)}\n`;
      throw new RangeError(
        `the recorded messages exceed ${maxLength} characters: record fewer calls, or pass a larger maxLength to recordCalls`,
      );
    },
  };
}

/** Counts recorded JSON. Returns true if it fits. */
type HasRoom = (json: RecordedJson) => boolean;

/** A call that is being recorded. */
class CallInProgress {
  readonly call: RecordedCall;
  private readonly hasRoom: HasRoom;

  constructor(method: string, fingerprint: number | undefined, hasRoom: HasRoom) {
    this.call = { method, fingerprint, steps: [], isOver: false };
    this.hasRoom = hasRoom;
  }

  /** Records a step of the call. Ignores steps after its end, such as a message that is no longer read. */
  record(step: Step): void {
    if (!this.call.isOver && this.hasRoom(step)) this.call.steps.push(step);
  }

  keepMetadata(response: InterceptedResponse): void {
    const [metadata, trailers] = [fieldsOf(response.responseMetadata), fieldsOf(response.trailers)];
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

function followed(
  response: InterceptedResponse,
  { method }: InterceptedCall,
  recording: CallInProgress,
): InterceptedResponse {
  const recordOutput = (output: unknown): void => recording.record({ out: toJson(output) });
  if (response.outputs === undefined && method.kind !== "notify") recordOutput(response.output);
  return observeResponse(response, {
    onItem: recordOutput,
    onOver: (error) => {
      recording.keepMetadata(response);
      recording.end(error);
    },
  });
}

/**
 * Records the caller's messages as they are taken. It is not a generator, so that `return()` reaches the producer at
 * once.
 */
function recordInputs(items: AsyncIterable<unknown>, recording: CallInProgress): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = items[Symbol.asyncIterator]();
      return {
        next: async () => {
          const step = await iterator.next();
          recording.record(step.done === true ? { end: true } : { in: toJson(step.value) });
          return step;
        },
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function fieldsOf(metadata: Metadata): RecordedField[] {
  return Array.from(metadata, ([name, value]): [string, RecordedJson] => [name, toJson(value)]);
}
