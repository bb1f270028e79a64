import type { RpcError } from "@quicrpc/core";
import { forwardedFrom } from "@quicrpc/core/transport";

/** A detail of an error in protobuf, of a type that other implementations of the Connect protocol know, such as "google.rpc.RetryInfo". */
export interface ConnectDetail {
  /** The full name of the message. */
  readonly type: string;
  /** The message, encoded. */
  readonly value: Uint8Array;
  /** The same in JSON, for people. */
  readonly debug?: unknown;
}

const attached = new WeakMap<RpcError, readonly ConnectDetail[]>();

/** Attaches details in protobuf to an error, for callers over HTTP; over other transports they are left out. Returns the error. */
export function withConnectDetails(error: RpcError, details: readonly ConnectDetail[]): RpcError {
  attached.set(error, details);
  return error;
}

/** The details in protobuf that an error came with over HTTP, or that `withConnectDetails` has attached, to it or to the error that `RpcError.forward` has made it of. */
export function connectDetails(error: RpcError): readonly ConnectDetail[] {
  for (let each: RpcError | undefined = error; each !== undefined; each = forwardedFrom(each)) {
    const details = attached.get(each);
    if (details !== undefined) return details;
  }
  return [];
}
