import type { CallTimings } from "./call-timings.js";
import type { ServedTimings } from "./served-timings.js";

/**
 * A part of a call's time: `wait` for a session and a place on it, `upload` of blobs, `encode`, `between` for queues and systems on the way, `wireThere`,
 * `server` or its `validation`, `turn` and `handler`, `wireBack`, `decode` and `items`. `wireAndServer` stands for the server where nobody knows the wire.
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

/** One part of a call's time, in milliseconds. */
export interface CallPart {
  readonly name: CallPartName;
  /** Begin of the part, from that of the call. */
  readonly fromMs: number;
  /** Duration; undefined where it is not known. */
  readonly ms: number | undefined;
}

/**
 * Lays out a caller's timings as parts that follow one another, to be drawn. Only an upload in a session lies over others: it goes on while the answer is waited for.
 * @param rttMs round-trip time of the connection, by which the wire's part is estimated
 * @param served durations that the server has measured of the call
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
  /** All that is not the wire. */
  readonly serverMs: number | undefined;
  /** Time that neither side has measured. */
  readonly betweenMs: number | undefined;
}

/** Divides the time between request and answer. The round-trip time is an estimate, of which no more can be true than there is room for. */
function divided(
  answerMs: number | undefined,
  rttMs: number | undefined,
  served: Partial<ServedTimings> = {},
): DividedAnswer {
  if (answerMs === undefined) return { wireMs: undefined, serverMs: undefined, betweenMs: undefined };
  const { decodeMs = 0, queueMs = 0, handlerMs = 0 } = served;
  const left = Math.max(0, answerMs - decodeMs - queueMs - handlerMs);
  const wireMs = rttMs === undefined ? undefined : Math.min(rttMs, left);
  return { wireMs, serverMs: answerMs - (wireMs ?? 0), betweenMs: left - (wireMs ?? 0) };
}
