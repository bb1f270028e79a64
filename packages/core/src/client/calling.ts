import type { CallAnswers, DuplexStream } from "../call/caller.js";
import type { CarrierSettings } from "../call/carrier.js";
import type { ItemStream, NewItemQueue } from "../call/item-stream.js";
import type { LateDuplex } from "../call/late-stream.js";
import type { ItemTarget } from "../call/send-items.js";
import type { AnyMethod, CallingCode, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { Datagrams, WebTransportDatagrams } from "../transport/session.js";
import type { NotificationCall } from "./invoke.js";
import type { OutgoingItems } from "./outgoing-items.js";

/**
 * A call that a session is about to make. Its kind makes it by one of these; what only some kinds need they bring along, so that
 * a bundle has it where a service needs it.
 */
export interface NewCall {
  /** The error as the call's caller gets it. */
  failure(error: RpcError): RpcError;
  /** Sent and forgotten. Throws what is wrong, or returns a promise where that is not known yet. */
  notify(input: unknown): void | Promise<void>;
  /**
   * With one answer: `resolve` gets it, or a promise that rejects with the call's error. With `code` the caller streams its
   * input into what is returned; undefined when the call is not made, or not yet.
   *
   * @param onFailed called before the caller learns of a failure
   */
  answered(
    input: unknown,
    resolve: (answer: unknown) => void,
    code?: InputCode,
    onFailed?: () => void,
  ): ItemTarget | undefined;
  /** With a stream of answers, kept in a queue. */
  streamed(input: unknown, newQueue: NewItemQueue): ItemStream<unknown>;
  /**
   * With streams both ways; `writableOf` makes the caller's end of one, before the call is made. `Late` is for a call that waits for
   * its session.
   */
  duplex(
    newQueue: NewItemQueue,
    code: InputCode,
    writableOf: (call: SendingCall) => WritableStream<unknown>,
    Late: typeof LateDuplex,
  ): DuplexStream<unknown, unknown>;
}

/** What sends the caller's items. */
export interface InputCode {
  readonly Items: typeof OutgoingItems;
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

/** Makes the calls of one kind. */
export interface Calling<Kind extends MethodKind = MethodKind> extends CallingCode<Kind> {
  /** Makes one. Its failure is not thrown, but told by what is returned. */
  start(call: NewCall, input: unknown): CallAnswers<unknown, unknown>[Kind];
  /**
   * Sends a notification as one datagram; absent where datagrams are not asked for. Returns whether it was, or is to go by
   * `start`; throws `RpcError` where it may not.
   */
  byDatagram?(
    datagrams: Datagrams | WebTransportDatagrams | undefined,
    settings: Pick<CarrierSettings, "prefix" | "format">,
    invocation: NotificationCall,
    input: unknown,
  ): boolean;
}

/** What makes the calls of `method`. */
export function callingOf(method: AnyMethod): Calling {
  return method.calling as Calling;
}
