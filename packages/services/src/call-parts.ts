import type { CallTimings } from "@quicrpc/core/measure";
import type { ServedTimings } from "./timed-router.js";

/**
 * Name of a part of a call's time: `wait` for a session and for permission to start, `upload` of blobs, `encode`,
 * `between` (queues and systems between client and server), `wireThere` (the request on the network), `server` or its
 * parts `validation`, `turn` (waiting to start) and `handler`, `wireBack` (the response on the network), `decode` and
 * `items`. If the time on the network is unknown, `wireAndServer` replaces the parts on the network and the server.
 */
export type CallPartName =
  | "wait"
  | "upload"
  | "encode"
  | "between"
  | "wireThere"
  | "server"
  | "wireAndServer"
  | "validation"
  | "turn"
  | "handler"
  | "wireBack"
  | "decode"
  | "items";

/** One part of a call's time. Times are in milliseconds. */
export interface CallPart {
  readonly name: CallPartName;
  /** Milliseconds between the start of the call and the start of this part. */
  readonly fromMs: number;
  /** Duration in milliseconds. Undefined if unknown. */
  readonly ms: number | undefined;
}

/**
 * Divides the timings that a caller has measured into consecutive parts, for a chart. Only an upload in a session
 * overlaps other parts, because it continues while the caller waits for the response.
 *
 * @param rttMs round-trip time of the connection in milliseconds, to estimate the time on the network
 * @param served timings that the server has measured
 */
export function callParts(
  timings: Partial<CallTimings>,
  rttMs: number | undefined,
  served: Partial<ServedTimings> | undefined,
): CallPart[] {
  const { waitMs, uploadMs, uploadedFirst, encodeMs, answerMs, decodeMs, itemsMs } = timings;
  const { wireMs, serverMs, betweenMs } = divided(answerMs, rttMs, served);
  const half = wireMs === undefined ? undefined : wireMs / 2;
  const parts: CallPart[] = [];
  let fromMs = 0;
  const add = (name: CallPartName, ms: number | undefined): void => {
    parts.push({ name, fromMs, ms });
    fromMs += ms ?? 0;
  };
  add("wait", waitMs);
  if (uploadMs !== undefined && uploadedFirst === true) add("upload", uploadMs);
  add("encode", encodeMs);
  if (uploadMs !== undefined && uploadedFirst !== true) parts.push({ name: "upload", fromMs, ms: uploadMs });
  if (served !== undefined) add("between", betweenMs);
  add("wireThere", half);
  if (served === undefined) add(wireMs === undefined ? "wireAndServer" : "server", serverMs);
  else {
    add("validation", served.decodeMs);
    add("turn", served.queueMs);
    add("handler", served.handlerMs);
  }
  add("wireBack", half);
  add("decode", decodeMs);
  if (itemsMs !== undefined) add("items", itemsMs);
  return parts;
}

interface DividedAnswer {
  readonly wireMs: number | undefined;
  readonly serverMs: number | undefined;
  /** Milliseconds that neither client nor server has measured. */
  readonly betweenMs: number | undefined;
}

/**
 * Divides the time between request and response. If the round-trip time is larger than the time that is left, uses the
 * time that is left.
 */
function divided(
  answerMs: number | undefined,
  rttMs: number | undefined,
  served: Partial<ServedTimings> = {},
): DividedAnswer {
  if (answerMs === undefined) return { wireMs: undefined, serverMs: undefined, betweenMs: undefined };
  const { decodeMs = 0, queueMs = 0, handlerMs = 0 } = served;
  const remainingMs = Math.max(0, answerMs - decodeMs - queueMs - handlerMs);
  const wireMs = rttMs === undefined ? undefined : Math.min(rttMs, remainingMs);
  return { wireMs, serverMs: answerMs - (wireMs ?? 0), betweenMs: remainingMs - (wireMs ?? 0) };
}
