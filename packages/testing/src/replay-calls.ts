import {
  type Caller,
  createLocalCaller,
  type InterceptedResponse,
  type InterceptedCall,
  interceptCaller,
  Metadata,
  RpcError,
} from "@quicrpc/core";
import { fullName, onAbort, streamsOutput } from "@quicrpc/core/internal";
import {
  fromJson,
  canonicalText,
  toJson,
  type RecordedField,
  type RecordedCall,
  type RecordedError,
  type Recording,
  type Step,
} from "./recording.js";

/** Maximum length of a message shown in an error, in characters. */
const MAX_SHOWN = 200;

/**
 * Returns a caller that answers calls from a recording of `recordCalls`, without a network or clock. A call gets the
 * response of the first recorded call that has the same method and messages and was not used before. The order of calls
 * does not matter. If there is no such call, the call fails with `failed_precondition`. Throws `TypeError` if the text
 * is not a recording.
 */
export function replayCalls(text: string): Caller {
  const { version, calls } = JSON.parse(text) as Partial<Recording>;
  if ((version as unknown) === 1) {
    throw new TypeError("the recording was made by an earlier version of recordCalls: record the calls again");
  }
  if (version !== 2 || !Array.isArray(calls)) throw new TypeError("the text is not a recording made by recordCalls");
  const replayed = new Set<RecordedCall>();
  return interceptCaller(createLocalCaller([]), [(call) => answerTo(call, new Replay(call, calls, replayed))]);
}

async function answerTo({ method }: InterceptedCall, replay: Replay): Promise<InterceptedResponse> {
  const { responseMetadata, trailers } = replay;
  if (streamsOutput(method)) return { responseMetadata, trailers, output: undefined, outputs: replay.run() };
  let output: unknown;
  for await (const value of replay.run()) output = value;
  return { responseMetadata, trailers, output, outputs: undefined };
}

class Replay {
  /** Metadata of the response. Complete when the call has ended. */
  readonly responseMetadata: Metadata = new Metadata();
  readonly trailers: Metadata = new Metadata();
  private readonly call: InterceptedCall;
  private readonly name: string;
  /** Recorded calls that match the events of this call so far. */
  private fitting: readonly RecordedCall[];
  /** Recorded calls that already answer a call, including this one. */
  private readonly replayed: Set<RecordedCall>;
  /** Recorded call that answers this one. Undefined until it is known. */
  private current: RecordedCall | undefined = undefined;
  private position = 0;

  constructor(call: InterceptedCall, recorded: readonly RecordedCall[], replayed: Set<RecordedCall>) {
    this.call = call;
    this.name = fullName(call.method);
    this.fitting = recorded.filter(({ method }) => method === this.name);
    this.replayed = replayed;
  }

  /** Reads the caller's messages and yields the callee's messages, in the recorded order. */
  async *run(): AsyncGenerator {
    const { input, inputs, signal } = this.call;
    this.requireSchema();
    const messages = inputs?.[Symbol.asyncIterator]();
    try {
      let recorded = messages === undefined ? this.match({ in: toJson(input) }) : this.choose();
      for (;;) {
        if (signal?.aborted === true) throw RpcError.from(signal.reason, "cancelled");
        const step = recorded.steps[this.position];
        if (step === undefined) break;
        if ("out" in step) {
          recorded = this.match(step);
          yield fromJson(step.out);
        } else {
          const received = messages && (await unlessAborted(messages.next(), signal));
          recorded = this.match(
            received === undefined || received.done === true ? { end: true } : { in: toJson(received.value) },
          );
        }
      }
      this.end(recorded);
    } finally {
      // The call may be over before its caller's messages are.
      void messages?.return?.().catch(() => {});
    }
  }

  private requireSchema(): void {
    const { fingerprint } = this.call.method;
    const isOther = (before: number | undefined): boolean => before !== undefined && before !== fingerprint;
    if (fingerprint === undefined || !this.fitting.some((call) => isOther(call.fingerprint))) return;
    throw refusal(`the schema of ${this.name} has changed since its calls were recorded`);
  }

  /** Processes one event of the call. Returns the recorded call that answers it. */
  private match(step: Step): RecordedCall {
    const text = canonicalText(step);
    this.fitting = this.fitting.filter(({ steps }) => canonicalText(steps[this.position] ?? null) === text);
    this.position++;
    return this.choose(text);
  }

  private choose(step?: string): RecordedCall {
    if (this.current !== undefined && this.fitting.includes(this.current)) return this.current;
    if (this.current !== undefined) this.replayed.delete(this.current);
    this.current = this.fitting.find((call) => !this.replayed.has(call));
    if (this.current === undefined) throw this.missing(step);
    this.replayed.add(this.current);
    return this.current;
  }

  private missing(step = ""): RpcError {
    const problem =
      this.fitting.length === 0 ? "no" : `${this.fitting.length}, each of which has answered, and no further`;
    const stepText = step === "" ? "" : `, at step ${this.position} ${step.slice(0, MAX_SHOWN)}`;
    return refusal(`the recording has ${problem} call of ${this.name} that matches this one${stepText}`);
  }

  private end({ metadata = [], trailers = [], error, isOver }: RecordedCall): void {
    append(metadata, this.responseMetadata);
    append(trailers, this.trailers);
    if (error !== undefined) throw errorOf(error);
    if (!isOver) throw refusal(`this call of ${this.name} was still in progress when the recording ended`);
    const { options } = this.call;
    options?.onResponseMetadata?.(this.responseMetadata);
    options?.onTrailers?.(this.trailers);
  }
}

/**
 * Settles with `promise`, or rejects when the signal fires. Without it, a wait for the caller's next message would not
 * end.
 */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stopWatching = onAbort(signal, () => reject(RpcError.from(signal.reason, "cancelled")));
    promise.then(resolve, reject).finally(stopWatching);
  });
}

function refusal(message: string): RpcError {
  return new RpcError("failed_precondition", message, { hint: "record the calls again" });
}

function errorOf({ code, message, reason, details, trailers }: RecordedError): RpcError {
  const metadata = new Metadata();
  append(trailers, metadata);
  return new RpcError(code, message, { reason, details: fromJson(details), metadata });
}

function append(fields: readonly RecordedField[], metadata: Metadata): void {
  for (const [name, value] of fields) metadata.append(name, fromJson(value) as string);
}
