import { onAbort, watch } from "../call/watch.js";
import {
  type AnyAnswer,
  BaseCaller,
  type Resumption,
  type TypedCaller,
  type Caller,
  type DuplexStream,
} from "../call/base-caller.js";
import { type ItemStream, itemQueue } from "../call/items/item-stream.js";
import { expiries } from "../call/expiries.js";
import type { CallOptions } from "../call/options.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import { Metadata } from "../metadata.js";
import { compose, type InterceptedResponse, type InterceptedCall, type Interceptor, type Next } from "./interceptor.js";
import { makeCall } from "./make-call.js";
import { type AnswerObserver, observeResponse } from "./observed.js";
import { SourceItems, WritableItems } from "./items.js";

const CALLS = [
  "start",
  "unary",
  "notify",
  "serverStream",
  "clientStream",
  "duplex",
] as const satisfies readonly (keyof TypedCaller)[];

/**
 * Returns a proxy of `caller` (a session, connection or pool) whose calls pass through `interceptors`; the first is the
 * outermost. All other members are unchanged.
 *
 * @example
 * const orders = createOrdersClient(interceptCaller(connection, [retry(), defaultTimeout(1000)]));
 */
export function interceptCaller<C extends Caller>(caller: C, interceptors: readonly Interceptor[]): C {
  if (interceptors.length === 0) return caller;
  const intercepted = new InterceptedCaller(caller, interceptors);
  const calls = new Map<PropertyKey, unknown>(CALLS.map((name) => [name, intercepted[name].bind(intercepted)]));
  return new Proxy(caller, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (value === undefined) return undefined;
      return calls.get(name) ?? (typeof value === "function" ? value.bind(target) : value);
    },
  });
}

class InterceptedCaller extends BaseCaller {
  private readonly next: Next;
  private readonly caller: Caller;
  private readonly interceptors: readonly Interceptor[];

  constructor(caller: Caller, interceptors: readonly Interceptor[]) {
    super();
    this.caller = caller;
    this.interceptors = interceptors;
    this.next = compose(interceptors, (call) => makeCall(caller, call));
  }

  override get resumption(): Resumption | undefined {
    return (this.caller as Partial<BaseCaller>).resumption;
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    switch (method.kind) {
      case "unary":
        return this.answer(callOf(method, options, { input }));
      case "notify":
        return this.answer(callOf(method, options, { input })).then(nothing);
      case "client_stream":
        return this.clientStreamCall(method, input, options);
      case "server_stream": {
        const abort = new LinkedAbort(options?.signal);
        const call = callOf(method, { ...options, signal: abort.signal }, { input });
        return this.stream(call, abort, this.next, { onItem: nothing, onOver: nothing });
      }
      case "duplex":
        return this.duplexCall(method, options);
    }
  }

  private async answer(call: InterceptedCall): Promise<unknown> {
    const { output } = await this.run(call, this.next);
    return output;
  }

  private async clientStreamCall(
    method: AnyMethod,
    source: unknown,
    options: CallOptions | undefined,
  ): Promise<unknown> {
    const inputs = new SourceItems(source);
    try {
      return await this.answer(callOf(method, options, { inputs }));
    } catch (error) {
      // An interceptor may have refused the call before it read any input.
      inputs.stop();
      throw error;
    }
  }

  private duplexCall(method: AnyMethod, options: CallOptions | undefined): DuplexStream<unknown, unknown> {
    const abort = new LinkedAbort(options?.signal);
    const inputs = new WritableItems((error) => abort.fire(error));
    const call = callOf(method, { ...options, signal: abort.signal }, { inputs });
    // Only `makeCall`, which sends the items, knows whether an item matches the schema, so it reports refused items to
    // the writer.
    const next = compose(this.interceptors, (intercepted) =>
      makeCall(this.caller, intercepted, (error) => inputs.refuse(error)),
    );
    const readable = this.stream(call, abort, next, {
      onItem: () => inputs.passedOn(),
      onOver: (error) => inputs.end(error ?? new RpcError("cancelled", "the call is over")),
    });
    return { readable, writable: inputs.writable };
  }

  private stream(
    call: InterceptedCall,
    abort: LinkedAbort,
    next: Next,
    { onItem, onOver }: Required<AnswerObserver>,
  ): ItemStream<unknown> {
    const end = (error: RpcError | undefined): void => {
      abort.unlink();
      // A generator in an interceptor handles `return` only after its next item; aborting ends the call at once.
      if (error !== undefined) abort.fire(callFailure(error, fullName(call.method)));
      onOver(error);
    };
    let leaveStream = (): void => abort.fire(new RpcError("cancelled", "the caller wants no more items"));
    const queue = itemQueue<unknown>({ onTaken() {}, onAbandoned: () => leaveStream() });
    this.run(call, next).then(
      (received) => {
        const response = observeResponse(received, { onItem, onOver: end });
        leaveStream = queue.follow(response.outputs ?? new SourceItems([]), response);
      },
      (error: unknown) => {
        queue.end(error as RpcError);
        end(error as RpcError);
      },
    );
    return queue.stream;
  }

  private async run(call: InterceptedCall, next: Next): Promise<InterceptedResponse> {
    try {
      return await inTime(call, next(call));
    } catch (error) {
      throw callFailure(RpcError.from(error), fullName(call.method));
    }
  }
}

/**
 * Settles in the same way as `response`, or rejects when the call's deadline or signals end the call, for example while
 * an interceptor waits for a token. It then rejects one turn of the event loop later, so that a result or error of the
 * interceptors has precedence.
 */
function inTime(
  { options, deadline }: InterceptedCall,
  response: Promise<InterceptedResponse>,
): Promise<InterceptedResponse> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let rejectWait: (error: RpcError) => void;
  const cancel = (error: RpcError): void => {
    timer = setTimeout(rejectWait, 0, error);
  };
  const unwatch = watch(options, deadline && deadline - Date.now(), { cancel }, expiries);
  if (unwatch === undefined) return response;
  const stopWaiting = (): void => {
    unwatch();
    clearTimeout(timer);
  };
  return new Promise((resolve, reject) => {
    rejectWait = reject;
    response.finally(stopWaiting).then(resolve, reject);
  });
}

function callOf(
  method: AnyMethod,
  options: CallOptions | undefined,
  { input, inputs }: { readonly input?: unknown; readonly inputs?: AsyncIterable<unknown> },
): InterceptedCall {
  // A copy, because the application may reuse its metadata.
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

/** An `AbortController` that also aborts when another signal does. */
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

function nothing(): void {}
