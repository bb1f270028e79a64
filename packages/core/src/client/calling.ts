import type { AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { Carrier, CarrierSettings } from "../call/carrier.js";
import type { ExplainFault } from "../call/fault.js";
import type { CallOptions } from "../call/options.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { AnyMethod, CallingCode, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Datagrams, WebTransportDatagrams } from "../transport/session.js";
import type { Departure } from "../wire/departure.js";
import { callFailureOf, type PendingCall } from "./pending-call.js";

export interface CallingHost {
  readonly limits: ClientLimits;
  readonly settings: CarrierSettings;
  readonly schemas: SchemaHandshake;
  readonly peer: string | undefined;
  /** Set if the peer has announced that it is closing the session. */
  readonly departure?: Departure | undefined;
  /** Adds details to errors of the peer, such as names of unserved methods. */
  readonly explain: ExplainFault;
  /** Returns the error for a call whose response cannot be decoded, and reports it to the callee. */
  unreadable(method: AnyMethod, error: unknown): RpcError;
  onUnauthenticated?(): void;
  /**
   * Called when the response of a call has arrived. `bytes` is the size of the larger message, request or response.
   * Absent if the session has no lanes.
   */
  noteSize?(method: AnyMethod, bytes: number): void;
  /** Returns the lane or stream for a new call. Throws `RpcError` if the session accepts no more calls. */
  carrierFor(method: AnyMethod, options: CallOptions | undefined): Carrier;
  /**
   * Returns the datagrams of the session; undefined if it has none. Throws `RpcError` if the session accepts no more
   * calls.
   */
  datagramsForCalls(): Datagrams | WebTransportDatagrams | undefined;
}

export function failedCall(method: AnyMethod, input: unknown, error: RpcError): AnyAnswer {
  const call = (method.calling as Calling).create(method, undefined, input);
  call.end(callFailureOf(error, method, undefined));
  return call.answer;
}

/**
 * Creates the calls of one kind of method. Method descriptors refer to it, so that a bundle contains only the kinds
 * that its services use.
 */
export interface Calling<Kind extends MethodKind = MethodKind> extends CallingCode<Kind> {
  /** Creates a call, which `start` then sends. If the call fails before that, it stops the item source in `input`. */
  create(method: AnyMethod, options: CallOptions | undefined, input: unknown): PendingCall;
}

/**
 * Returns a copy of `calling` that passes the options of each call through `change`. For the caller's side of an
 * extension that only changes options.
 */
export function withCallOptions(
  calling: CallingCode,
  change: (options: CallOptions | undefined) => CallOptions,
): CallingCode {
  return {
    ...calling,
    around(caller, method, input, options) {
      const changed = change(options as CallOptions | undefined);
      return calling.around === undefined
        ? (caller as Pick<BaseCaller, "begin">).begin(method, input, changed)
        : calling.around(caller, method, input, changed);
    },
  };
}
