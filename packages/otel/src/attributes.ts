import type { Attributes } from "@opentelemetry/api";
import type { CallTimings } from "@quicrpc/core/measure";
import { type Code, type InterceptedCall, RpcError } from "@quicrpc/core";

/** Codes that mean, on the callee's side, that the callee is at fault (OpenTelemetry's RPC conventions, gRPC). */
const CALLEE_FAULTS: ReadonlySet<Code> = new Set<Code>([
  "unknown",
  "deadline_exceeded",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
]);

/** Attributes of a call that are known when it begins. */
export function callAttributes({ method }: InterceptedCall): Attributes {
  return { "rpc.system.name": "quicrpc", "rpc.method": `${method.service.name}/${method.name}` };
}

/** Attributes of a call that are known when it is over. */
export function outcomeAttributes({ side }: InterceptedCall, error: unknown): Attributes {
  if (error === undefined) return { "rpc.response.status_code": "ok" };
  const { code } = failureOf(side, error);
  return { "rpc.response.status_code": code, ...(isFailure(side, code) && { "error.type": code }) };
}

/** Attributes that say where the time of a call went, in milliseconds, and how many bytes its blobs have. */
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

/** The error as the caller receives it: what a handler throws beside `RpcError`s is `internal`. */
export function failureOf(side: InterceptedCall["side"], error: unknown): RpcError {
  return RpcError.from(error, side === "callee" ? "internal" : "unknown");
}

export function isFailure(side: InterceptedCall["side"], code: Code): boolean {
  return side === "caller" || CALLEE_FAULTS.has(code);
}
