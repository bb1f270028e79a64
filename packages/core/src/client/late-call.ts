import { rejectionAtCaller } from "../callers-line.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import { failureOf } from "./failure.js";

/** Outcome of a call that waits for a session: exactly one of the two is called, once, unless the call is withdrawn. */
interface WaitingOutcome {
  /** @param make makes the call, and returns its answer */
  start(make: () => unknown): void;
  fail(error: RpcError): void;
}

/** A call that waits for a session. */
export interface LateCall {
  readonly method: AnyMethod;
  /** The name of the peer in errors. */
  readonly peer: string | undefined;
  /** Queues the call. Returns a function that cancels it. */
  queue(outcome: WaitingOutcome): () => void;
}

/** Returns the promise of an answer to a call that is made later. */
export function promiseLater<Result>(call: LateCall, onFailed?: () => void): Promise<Result> {
  return new Promise((resolve) => {
    call.queue({
      start: (make) => resolve(make() as Promise<Result>),
      fail(error) {
        resolve(rejectionAtCaller(lateFailure(call, error)));
        onFailed?.();
      },
    });
  });
}

/** Returns the error for the caller of a call that was not made. */
export function lateFailure({ method, peer }: LateCall, error: RpcError): RpcError {
  return failureOf(error, method, peer);
}
