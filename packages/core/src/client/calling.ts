import type { CarrierSettings } from "../call/carrier.js";
import type { AnyMethod, CallingCode, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { Datagrams } from "../transport/session.js";
import type { Invocation } from "./invoke.js";

/** A call that waits for a session: exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface LateCall {
  /** @param make makes the call, and gives what `Calling.start` gives */
  start(make: () => unknown): void;
  fail(error: RpcError): void;
}

/** Makes the calls of one kind. */
export interface Calling<Kind extends MethodKind = MethodKind> extends CallingCode<Kind> {
  /** Makes one at once. Its failure is not thrown, but told by what is returned, which is what `Caller` returns. */
  start(invocation: Invocation, input: unknown): unknown;
  /**
   * Makes one later, and returns the same as `start`.
   *
   * @param queue returns what takes the call back
   */
  wait(queue: (call: LateCall) => () => void, input: unknown): unknown;
  /**
   * Sends a notification as one datagram; absent where datagrams are not asked for. Returns whether it was, or is to go by
   * `start`; throws `RpcError` where it may not.
   */
  byDatagram?(
    datagrams: Datagrams | undefined,
    settings: CarrierSettings,
    invocation: Invocation,
    input: unknown,
  ): boolean;
}

/** What makes the calls of `method`. */
export function callingOf(method: AnyMethod): Calling {
  return method.calling as Calling;
}
