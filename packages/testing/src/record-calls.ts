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
   * Maximum length of the recorded messages in characters. If a recording is longer, `text()` throws. Default:
   * 16,777,216.
   */
  readonly maxLength?: number;
}

/** Records calls for `replayCalls`. Created by `recordCalls`. */
export interface CallRecorder {
  /** Interceptor that records calls. Pass it to `interceptCaller` as the last interceptor. */
  readonly interceptor: Interceptor;
  /**
   * Returns the calls recorded so far as JSON. Store the text in a file and pass it to `replayCalls`. It excludes
   * request metadata, which may contain credentials. Throws `RangeError` if the recording exceeds `maxLength`.
   */
  text(): string;
}

/**
 * Creates a recorder, which records the messages of calls as their caller sees them: `interceptCaller(connection,
 * [recorder.interceptor])`. Works over any kind of session. Calls with blobs are refused.
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

/**
 * Adds the size of recorded JSON to the recording's size. Returns true if the recording does not exceed its maximum.
 */
type HasRoom = (json: RecordedJson) => boolean;

class CallInProgress {
  readonly call: RecordedCall;
  private readonly hasRoom: HasRoom;

  constructor(method: string, fingerprint: number | undefined, hasRoom: HasRoom) {
    this.call = { method, fingerprint, steps: [], isOver: false };
    this.hasRoom = hasRoom;
  }

  /**
   * Records an event of the call. Ignores events after the call's end, such as a message that the caller no longer
   * reads.
   */
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
 * Records the caller's messages when the call reads them. This is not a generator, so that `return()` reaches the
 * source of the messages at once.
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
