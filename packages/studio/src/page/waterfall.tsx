import type { CallTimings } from "@quicrpc/core/measure";
import { type CallPartName, callParts, type ServedTimings } from "@quicrpc/services";
import type { JSX } from "preact";

export interface WaterfallProps {
  readonly timings: Partial<CallTimings>;
  /** Round-trip time of the connection in milliseconds. Undefined if unknown. */
  readonly rttMs: number | undefined;
  /** Caption that names the two sides between which the times were measured. */
  readonly where: string;
  readonly served?: Partial<ServedTimings> | undefined;
}

/** Label of each part of a call, and the CSS class of its bar. */
const BARS: Readonly<Record<CallPartName, readonly [label: string, kind: string]>> = {
  wait: ["Waiting for a session", "wait"],
  upload: ["Files", "wire"],
  encode: ["Encoding", "own"],
  between: ["Queues and systems between", "wait"],
  wireThere: ["Wire, there (half the round trip)", "wire"],
  server: ["Server", "server"],
  wireAndServer: ["Wire and server", "server"],
  validation: ["Server: validation", "own"],
  turn: ["Server: its turn", "wait"],
  handler: ["Server: handler", "server"],
  wireBack: ["Wire, back", "wire"],
  decode: ["Decoding", "own"],
  items: ["Messages", "messages"],
};

/**
 * Shows where the time of a call was spent: one bar for each part, in order. Parts without a measurement are marked.
 */
export function Waterfall({ timings, rttMs, where, served }: WaterfallProps): JSX.Element {
  const parts = callParts(timings, rttMs, served);
  const total = timings.totalMs ?? Math.max(1, ...parts.map(({ fromMs, ms = 0 }) => fromMs + ms));
  const percent = (ms: number): string => `${Math.min(100, (100 * ms) / (total || 1))}%`;
  return (
    <table class="waterfall">
      <caption>{where}</caption>
      <tbody>
        {parts.map(({ name, fromMs, ms }) => {
          const [label, kind] = BARS[name];
          return (
            <tr key={name}>
              <th scope="row">{name === "upload" ? `${label}, ${timings.uploadBytes} bytes` : label}</th>
              <td class="track">
                {ms !== undefined && (
                  <div class={`bar-of ${kind}`} style={{ marginLeft: percent(fromMs), width: percent(ms) }} />
                )}
              </td>
              <td class="ms">{ms === undefined ? "unknown" : `${ms.toFixed(2)} ms`}</td>
            </tr>
          );
        })}
        <tr>
          <th scope="row">Total</th>
          <td />
          <td class="ms">{total.toFixed(2)} ms</td>
        </tr>
      </tbody>
    </table>
  );
}
