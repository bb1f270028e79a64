import { onAbort } from "../call/abort.js";
import type { Caller, DuplexStream } from "../call/caller.js";
import type { StreamSource } from "../call/item-source.js";
import { itemQueue, type ItemStream } from "../call/item-stream.js";
import { LateItems } from "../call/late-stream.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod, MethodDescriptor } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import { Metadata } from "../metadata.js";
import { compose, type InterceptedAnswer, type InterceptedCall, type Interceptor, type Next } from "./interceptor.js";
import { makeCall } from "./make-call.js";
import { observed } from "./observed.js";
import { SourceItems } from "./source-items.js";
import { WritableItems } from "./writable-items.js";

const CALLS = [
  "unary",
  "notify",
  "serverStream",
  "clientStream",
  "duplex",
] as const satisfies readonly (keyof Caller)[];

/**
 * `caller` with `interceptors` around each call made through what is returned; the first is the outermost. A session or
 * connection keeps everything else that it has.
 */
export function interceptCaller<C extends Caller>(caller: C, interceptors: readonly Interceptor[]): C {
  if (interceptors.length === 0) return caller;
  const intercepted = new InterceptedCaller(caller, interceptors);
  const calls = new Map<PropertyKey, unknown>(CALLS.map((name) => [name, intercepted[name].bind(intercepted)]));
  return new Proxy(caller, {
    get(target, name) {
      const call = calls.get(name);
      if (call !== undefined) return call;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

class InterceptedCaller implements Caller {
  private readonly next: Next;

  constructor(caller: Caller, interceptors: readonly Interceptor[]) {
    this.next = compose(interceptors, (call) => makeCall(caller, call));
  }

  async unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result> {
    const { output } = await this.run(callOf(method, options, { input }));
    return output as Result;
  }

  async notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void> {
    await this.run(callOf(method, options, { input }));
  }

  async clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result> {
    const inputs = new SourceItems(source);
    try {
      const { output } = await this.run(callOf(method, options, { inputs }));
      return output as Result;
    } catch (error) {
      // An interceptor may have refused the call before anything was read.
      inputs.stop();
      throw error;
    }
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result> {
    const abort = new LinkedAbort(options?.signal);
    return this.stream(callOf(method, { ...options, signal: abort.signal }, { input }), abort, () => {});
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result> {
    const abort = new LinkedAbort(options?.signal);
    const inputs = new WritableItems((error) => abort.fire(error));
    const call = callOf(method, { ...options, signal: abort.signal }, { inputs });
    const readable = this.stream<Result>(call, abort, (error) => {
      inputs.end(error ?? new RpcError("cancelled", "the call is over"));
    });
    return { readable, writable: inputs.writable };
  }

  private stream<Result>(
    call: InterceptedCall,
    abort: LinkedAbort,
    onOver: (error: RpcError | undefined) => void,
  ): ItemStream<Result> {
    const end = (error: RpcError | undefined): void => {
      abort.unlink();
      // Reaches the call also where an interceptor's generator would pass on that nobody reads only after its next item.
      if (error !== undefined) abort.fire(callFailure(error));
      onOver(error);
    };
    const late = new LateItems<unknown>(itemQueue, () =>
      abort.fire(new RpcError("cancelled", "the caller wants no more items")),
    );
    this.run(call).then(
      (given) => {
        const answer = observed(given, { onOver: end });
        late.follow(answer.outputs ?? new SourceItems([]), answer);
      },
      (error: unknown) => {
        late.fail(error as RpcError);
        end(error as RpcError);
      },
    );
    return late.stream as ItemStream<Result>;
  }

  private async run(call: InterceptedCall): Promise<InterceptedAnswer> {
    try {
      return await this.next(call);
    } catch (error) {
      throw callFailure(RpcError.from(error));
    }
  }
}

function callOf(
  method: AnyMethod,
  options: CallOptions | undefined,
  { input, inputs }: { readonly input?: unknown; readonly inputs?: AsyncIterable<unknown> },
): InterceptedCall {
  // A copy: what interceptors add must not stay in what the caller may use again.
  const metadata = new Metadata(options?.metadata);
  const deadline = deadlineOf(options);
  return {
    side: "caller",
    method,
    metadata,
    deadline,
    signal: options?.signal,
    input,
    inputs,
    options,
    context: undefined,
  };
}

function deadlineOf({ timeoutMs, deadline, parent }: CallOptions = {}): number | undefined {
  const earliest = Math.min(
    timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs,
    deadline === undefined ? Number.POSITIVE_INFINITY : Number(deadline),
    parent?.deadline ?? Number.POSITIVE_INFINITY,
  );
  return earliest === Number.POSITIVE_INFINITY ? undefined : earliest;
}

/** Fires when another signal does, or by itself. */
class LinkedAbort {
  readonly unlink: () => void;
  private readonly controller = new AbortController();

  constructor(other: AbortSignal | undefined) {
    if (other?.aborted) this.controller.abort(other.reason);
    this.unlink = other === undefined ? () => {} : onAbort(other, () => this.controller.abort(other.reason));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  fire(reason: RpcError): void {
    this.controller.abort(reason);
  }
}
