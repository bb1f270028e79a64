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
import { failureOf, type PendingCall } from "./pending-call.js";

/** A session as the calls that it makes see it. */
export interface CallingHost {
  readonly limits: ClientLimits;
  readonly settings: CarrierSettings;
  readonly schemas: SchemaHandshake;
  /** The peer's name in errors, such as its URL. */
  readonly peer: string | undefined;
  /** The peer's notice when it began to drain the session. */
  readonly departure?: Departure | undefined;
  /** Completes errors whose frame says too little. */
  readonly explain: ExplainFault;
  /** Makes the error of a call whose answer could not be read, and tells the callee. */
  unreadable(method: AnyMethod, error: unknown): RpcError;
  /** A call has failed with `unauthenticated`. */
  onUnauthenticated?(): void;
  /**
   * Called when a call was answered, with the size in bytes of its larger message. Absent if calls do not share a lane.
   */
  noteSize?(method: AnyMethod, bytes: number): void;
  /** Picks what carries a call. Throws `RpcError` when nothing can. */
  carrierFor(method: AnyMethod, options: CallOptions | undefined): Carrier;
  /** The session's datagrams. Throws `RpcError` when the session takes no calls. */
  datagramsForCalls(): Datagrams | WebTransportDatagrams | undefined;
}

/** Creates a call that fails with `error`, and returns its answer. */
export function failedCall(method: AnyMethod, input: unknown, error: RpcError): AnyAnswer {
  const call = (method.calling as Calling).create(method, undefined, input);
  call.end(failureOf(error, method, undefined));
  return call.answer;
}

/** Makes the calls of one kind. Descriptors refer to it, so that a bundle contains only the kinds that its services use. */
export interface Calling<Kind extends MethodKind = MethodKind> extends CallingCode<Kind> {
  /** Creates a call; `start` makes it, and receives the input again. A call that fails before needs it to stop its source. */
  create(method: AnyMethod, options: CallOptions | undefined, input: unknown): PendingCall;
}

/** Returns `calling` with the options of each call changed by `change`: the caller's side of an extension that does no more. */
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
