import type { Attributes } from "@opentelemetry/api";
import type { CallTimings } from "@quicrpc/core/measure";
import { type Code, type InterceptedCall, RpcError } from "@quicrpc/core";

/** Status codes that count as errors of the server (OpenTelemetry's semantic conventions for RPC, gRPC). */
const CALLEE_FAULTS: ReadonlySet<Code> = new Set<Code>([
  "unknown",
  "deadline_exceeded",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
]);

/** Returns the span attributes that are known when a call starts. */
export function callAttributes({ method }: InterceptedCall): Attributes {
  return { "rpc.system.name": "quicrpc", "rpc.method": `${method.service.name}/${method.name}` };
}

/** Returns the span attributes that are known when a call ends. */
export function outcomeAttributes({ side }: InterceptedCall, error: unknown): Attributes {
  if (error === undefined) return { "rpc.response.status_code": "ok" };
  const { code } = failureAttributes(side, error);
  return { "rpc.response.status_code": code, ...(isFailure(side, code) && { "error.type": code }) };
}

/** Returns attributes with the durations of a call's phases in milliseconds, and the size of its blobs in bytes. */
export function timingAttributes({
  waitMs,
  uploadMs,
  uploadBytes,
  encodeMs,
  answerMs,
  decodeMs,
  itemsMs,
}: CallTimings): Attributes {
  return {
    ...(waitMs !== undefined && { "quicrpc.call.wait_ms": waitMs }),
    ...(uploadMs !== undefined && { "quicrpc.call.upload_ms": uploadMs }),
    ...(uploadBytes !== undefined && { "quicrpc.call.upload_bytes": uploadBytes }),
    ...(encodeMs !== undefined && { "quicrpc.call.encode_ms": encodeMs }),
    ...(answerMs !== undefined && { "quicrpc.call.answer_ms": answerMs }),
    ...(decodeMs !== undefined && { "quicrpc.call.decode_ms": decodeMs }),
    ...(itemsMs !== undefined && { "quicrpc.call.items_ms": itemsMs }),
  };
}

/**
 * Returns the attributes of a failed call, with the error as its caller receives it: any exception of a handler except
 * `RpcError` becomes `internal`.
 */
export function failureAttributes(side: InterceptedCall["side"], error: unknown): RpcError {
  return RpcError.from(error, side === "callee" ? "internal" : "unknown");
}

export function isFailure(side: InterceptedCall["side"], code: Code): boolean {
  return side === "caller" || CALLEE_FAULTS.has(code);
}
