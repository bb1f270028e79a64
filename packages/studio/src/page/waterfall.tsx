import type { CallTimings, ServedTimings } from "@quicrpc/core/measure";
import type { JSX } from "preact";

/** Properties of `Waterfall`. */
export interface WaterfallProps {
  readonly timings: Partial<CallTimings>;
  /** The round-trip time of the connection, where it is known. */
  readonly rttMs: number | undefined;
  /** Where the durations were measured. */
  readonly where: string;
  /** Durations that the server itself has measured. */
  readonly served?: Partial<ServedTimings> | undefined;
}

interface Bar {
  readonly name: string;
  readonly from: number;
  readonly ms: number | undefined;
  readonly kind: string;
}

/** Where the time of a call went: one bar for each part, in order. What is not known says so. */
export function Waterfall({ timings, rttMs, where, served }: WaterfallProps): JSX.Element {
  const bars = barsOf(timings, rttMs, served);
  const total = timings.totalMs ?? Math.max(1, ...bars.map(({ from, ms = 0 }) => from + ms));
  const percent = (ms: number): string => `${Math.min(100, (100 * ms) / (total || 1))}%`;
  return (
    <table class="waterfall">
      <caption>{where}</caption>
      <tbody>
        {bars.map(({ name, from, ms, kind }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="track">
              {ms !== undefined && (
                <div class={`bar-of ${kind}`} style={{ marginLeft: percent(from), width: percent(ms) }} />
              )}
            </td>
            <td class="ms">{ms === undefined ? "unknown" : `${ms.toFixed(2)} ms`}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">Total</th>
          <td />
          <td class="ms">{total.toFixed(2)} ms</td>
        </tr>
      </tbody>
    </table>
  );
}

function barsOf(
  timings: Partial<CallTimings>,
  rttMs: number | undefined,
  served: Partial<ServedTimings> | undefined,
): readonly Bar[] {
  const { waitMs, uploadMs, uploadBytes, encodeMs, answerMs, decodeMs, itemsMs, totalMs = Infinity } = timings;
  const bars: Bar[] = [];
  let from = 0;
  const add = (name: string, ms: number | undefined, kind: string): void => {
    bars.push({ name, from, ms, kind });
    from += ms ?? 0;
  };
  add("Waiting for a session", waitMs, "wait");
  // Over HTTP files are sent before the request; in a session while the answer is waited for, of which that is a part.
  const inTurn = [waitMs, uploadMs, encodeMs, answerMs].reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
  const uploadFirst = inTurn <= totalMs;
  const upload = `Files, ${uploadBytes} bytes`;
  if (uploadMs !== undefined && uploadFirst) add(upload, uploadMs, "wire");
  add("Encoding", encodeMs, "own");
  if (uploadMs !== undefined && !uploadFirst) bars.push({ name: upload, from, ms: uploadMs, kind: "wire" });
  const { wireMs, serverMs, restMs } = partsOf(answerMs, rttMs, served);
  const half = wireMs === undefined ? undefined : wireMs / 2;
  // Its queue, and what of the answer no side has measured, are one: durations of two clocks leave no more.
  if (served !== undefined) add("Queues and systems between", restMs, "wait");
  add("Wire, there (half the round trip)", half, "wire");
  if (served === undefined) add("Server", serverMs, "server");
  else {
    add("Server: validation", served.decodeMs, "own");
    add("Server: its turn", served.queueMs, "wait");
    add("Server: handler", served.handlerMs, "server");
  }
  add("Wire, back", half, "wire");
  add("Decoding", decodeMs, "own");
  if (itemsMs !== undefined) add("Messages", itemsMs, "messages");
  return bars;
}

interface AnswerParts {
  readonly wireMs: number | undefined;
  /** Where the server says nothing: all that is not the wire. */
  readonly serverMs: number | undefined;
  /** Where it does: what neither has measured. */
  readonly restMs: number | undefined;
}

/** Divides the time between request and answer: the round-trip time is an estimate, of which no more can be true than there is room for. */
function partsOf(
  answerMs: number | undefined,
  rttMs: number | undefined,
  served: Partial<ServedTimings> | undefined,
): AnswerParts {
  if (answerMs === undefined) return { wireMs: undefined, serverMs: undefined, restMs: undefined };
  const { decodeMs = 0, queueMs = 0, handlerMs = 0 } = served ?? {};
  const left = Math.max(0, answerMs - decodeMs - queueMs - handlerMs);
  const wireMs = rttMs === undefined ? undefined : Math.min(rttMs, left);
  return { wireMs, serverMs: answerMs - (wireMs ?? 0), restMs: left - (wireMs ?? 0) };
}
