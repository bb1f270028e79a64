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
                <div class={`bar ${kind}`} style={{ marginLeft: percent(from), width: percent(ms) }} />
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
  const { waitMs, encodeMs, answerMs, decodeMs, itemsMs } = timings;
  const wire = rttMs === undefined || answerMs === undefined ? undefined : Math.min(rttMs, answerMs);
  const afterWait = waitMs ?? 0;
  const afterEncode = afterWait + (encodeMs ?? 0);
  const afterAnswer = afterEncode + (answerMs ?? 0);
  const afterDecode = afterAnswer + (decodeMs ?? 0);
  return [
    { name: "Waiting for a session", from: 0, ms: waitMs, kind: "wait" },
    { name: "Encoding", from: afterWait, ms: encodeMs, kind: "own" },
    { name: "Wire, both ways (by the round trip)", from: afterEncode, ms: wire, kind: "wire" },
    ...serverBars(
      afterEncode + (wire ?? 0),
      answerMs === undefined || wire === undefined ? answerMs : answerMs - wire,
      served,
    ),
    { name: "Decoding", from: afterAnswer, ms: decodeMs, kind: "own" },
    ...(itemsMs === undefined ? [] : [{ name: "Messages", from: afterDecode, ms: itemsMs, kind: "items" }]),
  ];
}

/** The times that the server has measured, and the rest: its system, and its queues before and after. */
function serverBars(from: number, ms: number | undefined, served: Partial<ServedTimings> | undefined): readonly Bar[] {
  if (served === undefined) return [{ name: "Server", from, ms, kind: "server" }];
  const { decodeMs, queueMs, handlerMs } = served;
  const afterDecode = from + (decodeMs ?? 0);
  return [
    { name: "Server: validation", from, ms: decodeMs, kind: "own" },
    { name: "Server: its turn", from: afterDecode, ms: queueMs, kind: "wait" },
    { name: "Server: handler", from: afterDecode + (queueMs ?? 0), ms: handlerMs, kind: "server" },
  ];
}
