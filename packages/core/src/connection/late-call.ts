import type { DuplexStream } from "../call/caller.js";
import type { ItemStream } from "../call/item-stream.js";
import { LateItems } from "../call/late-stream.js";
import type { NewCall } from "../client/calling.js";
import { callFailure, type RpcError } from "../errors.js";

/** A call that waits for a session: exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface LateCall {
  /** @param make makes the call, and gives what `Calling.start` gives */
  start(make: () => unknown): void;
  fail(error: RpcError): void;
}

/**
 * A call that is made once there is a session for it.
 *
 * @param queue returns what takes the call back
 */
export function lateCall(queue: (call: LateCall) => () => void): NewCall {
  const promised = (resolve: (value: never) => void, reject: (error: RpcError) => void): void =>
    void queue({ start: (make) => resolve(make() as never), fail: (error) => reject(callFailure(error)) });
  return {
    notify: () => new Promise(promised),
    answered(_input, resolve, reject) {
      promised(resolve, reject);
      return undefined;
    },
    streamed(_input, newQueue) {
      const late = new LateItems<unknown>(newQueue, () => takeBack());
      const takeBack = queue({
        start(make) {
          const stream = make() as ItemStream<unknown>;
          late.follow(stream, stream);
        },
        fail: (error) => late.fail(callFailure(error)),
      });
      return late.stream;
    },
    duplex(newQueue, _Items, _writableOf, Late) {
      const late = new Late<unknown, unknown>(newQueue, () => takeBack());
      const takeBack = queue({
        start: (make) => late.follow(make() as DuplexStream<unknown, unknown>),
        fail: (error) => late.fail(callFailure(error)),
      });
      return late;
    },
  };
}
