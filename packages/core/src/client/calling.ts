import type { DuplexStream } from "../call/caller.js";
import type { CarrierSettings } from "../call/carrier.js";
import type { ItemQueue, ItemStream } from "../call/item-stream.js";
import type { ItemTarget } from "../call/send-items.js";
import type { AnyMethod, CallingCode, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { Datagrams } from "../transport/session.js";
import type { Invocation } from "./invoke.js";
import type { OutgoingItems } from "./outgoing-items.js";

/**
 * A call that a session is about to make. Its kind makes it by one of these; what only some kinds need they bring along, so that
 * a bundle has it where a service needs it.
 */
export interface NewCall {
  /** Sent and forgotten. Throws what is wrong. */
  notify(input: unknown): void;
  /**
   * With one answer, for `resolve` or `reject`. With `Items` the caller streams its input into what is returned; undefined when the
   * call could not be made.
   */
  answered(
    input: unknown,
    resolve: (value: unknown) => void,
    reject: (error: RpcError) => void,
    Items?: typeof OutgoingItems,
  ): ItemTarget | undefined;
  /** With a stream of answers, kept in a `Queue`. */
  streamed(input: unknown, Queue: typeof ItemQueue): ItemStream<unknown>;
  /** With streams both ways; `writableOf` makes the caller's end of one, before the call is made. */
  duplex(
    Queue: typeof ItemQueue,
    Items: typeof OutgoingItems,
    writableOf: (call: SendingCall) => WritableStream<unknown>,
  ): DuplexStream<unknown, unknown>;
}

/** A call whose caller streams, as the writable end sees it. */
export interface SendingCall {
  /** Undefined for a call that could not be made. */
  readonly items: ItemTarget | undefined;
  /** Told of the end: the error, or undefined after a good one. */
  onOver: ((error: RpcError | undefined) => void) | undefined;
  /** Ends the call from this side, unless it is over. */
  giveUp(error: RpcError): void;
}

/** A call that waits for a session: exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface LateCall {
  /** @param make makes the call, and gives what `Calling.start` gives */
  start(make: () => unknown): void;
  fail(error: RpcError): void;
}

/** Makes the calls of one kind. */
export interface Calling<Kind extends MethodKind = MethodKind> extends CallingCode<Kind> {
  /** Makes one at once. Its failure is not thrown, but told by what is returned, which is what `Caller` returns. */
  start(call: NewCall, input: unknown): unknown;
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
    settings: Pick<CarrierSettings, "prefix" | "format">,
    invocation: Pick<Invocation, "method" | "options" | "limits">,
    input: unknown,
  ): boolean;
}

/** What makes the calls of `method`. */
export function callingOf(method: AnyMethod): Calling {
  return method.calling as Calling;
}
