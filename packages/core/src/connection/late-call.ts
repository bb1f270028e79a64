import type { DuplexStream } from "../call/caller.js";
import type { ItemStream } from "../call/item-stream.js";
import { LateItems } from "../call/late-stream.js";
import { rejectionAtCaller } from "../callers-line.js";
import type { NewCall } from "../client/calling.js";
import { failureOf } from "../client/failure.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";

/** A call that waits for a session: exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface LateCall {
  /** @param make makes the call, and gives what `Calling.start` gives */
  start(make: () => unknown): void;
  fail(error: RpcError): void;
}

/**
 * A call that is made once there is a session for it.
 *
 * @param peer the name of the peer in errors
 * @param queue returns what takes the call back
 */
export function lateCall(method: AnyMethod, peer: string | undefined, queue: (call: LateCall) => () => void): NewCall {
  const failure = (error: RpcError): RpcError => failureOf(error, method, peer);
  const promised = (resolve: (answer: never) => void, onFailed?: () => void): void =>
    void queue({
      start: (make) => resolve(make() as never),
      fail(error) {
        resolve(rejectionAtCaller(failure(error)) as never);
        onFailed?.();
      },
    });
  return {
    failure,
    notify: () => new Promise<void>((resolve) => promised(resolve)),
    answered(_input, resolve, _code, onFailed) {
      promised(resolve, onFailed);
      return undefined;
    },
    streamed(_input, newQueue) {
      const late = new LateItems<unknown>(newQueue, () => takeBack());
      const takeBack = queue({
        start(make) {
          const stream = make() as ItemStream<unknown>;
          late.follow(stream, stream);
        },
        fail: (error) => late.fail(failure(error)),
      });
      return late.stream;
    },
    duplex(newQueue, _Items, _writableOf, Late) {
      const late = new Late<unknown, unknown>(newQueue, () => takeBack());
      const takeBack = queue({
        start: (make) => late.follow(make() as DuplexStream<unknown, unknown>),
        fail: (error) => late.fail(failure(error)),
      });
      return late;
    },
  };
}
