import type { RpcError } from "@quicrpc/core";
import { forwardedFrom } from "@quicrpc/core/internal";

/**
 * A protobuf message among the details of an error. Other implementations of the Connect protocol know types such as
 * "google.rpc.RetryInfo".
 */
export interface ConnectDetail {
  /** Full name of the message's type. */
  readonly type: string;
  /** The encoded message. */
  readonly value: Uint8Array;
  /** The message in JSON, for people to read. */
  readonly debug?: unknown;
}

const attached = new WeakMap<RpcError, readonly ConnectDetail[]>();

/** Attaches protobuf details to an error, for callers over HTTP. Other transports do not send them. Returns the error. */
export function withConnectDetails(error: RpcError, details: readonly ConnectDetail[]): RpcError {
  attached.set(error, details);
  return error;
}

/**
 * Returns the protobuf details that arrived with an error over HTTP, or that `withConnectDetails` has attached to it.
 * If `RpcError.forward` made the error, returns the details of the original error.
 */
export function connectDetails(error: RpcError): readonly ConnectDetail[] {
  for (let each: RpcError | undefined = error; each !== undefined; each = forwardedFrom(each)) {
    const details = attached.get(each);
    if (details !== undefined) return details;
  }
  return [];
}
