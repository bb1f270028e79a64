import type { CallTimings } from "@quicrpc/core/measure";
import type { BatchStep, ServedTimings } from "@quicrpc/services";
import type { JSX } from "preact";
import { type Bar, batchBars, callBars, endOf, msText } from "./bars.js";

export interface WaterfallProps {
  readonly timings: Partial<CallTimings>;
  /** Round-trip time of the connection in milliseconds. Undefined if unknown. */
  readonly rttMs: number | undefined;
  /** Caption that names the two sides between which the times were measured. */
  readonly where: string;
  readonly served?: Partial<ServedTimings> | undefined;
}

/**
 * Shows where the time of a call was spent: one bar for each part, in order. Parts without a measurement are marked.
 */
export function Waterfall({ timings, rttMs, where, served }: WaterfallProps): JSX.Element {
  const bars = callBars(timings, rttMs, served);
  return <Chart caption={where} bars={bars} totalMs={timings.totalMs ?? endOf(bars)} />;
}

/** Shows the plan of a batch: one bar for each step, and its result. */
export function BatchWaterfall({ steps }: { readonly steps: readonly BatchStep[] }): JSX.Element {
  const bars = batchBars(steps);
  return <Chart caption="Steps of the batch, at the server" bars={bars} totalMs={endOf(bars)} />;
}

interface ChartProps {
  readonly caption: string;
  readonly bars: readonly Bar[];
  readonly totalMs: number | undefined;
}

function Chart({ caption, bars, totalMs }: ChartProps): JSX.Element {
  const percent = (ms: number): string => `${Math.min(100, (100 * ms) / (totalMs || 1))}%`;
  return (
    <table class="waterfall">
      <caption>{caption}</caption>
      <tbody>
        {bars.map(({ label, kind, fromMs, ms, result }) => (
          <tr key={label}>
            <th scope="row">
              {label}
              {result !== undefined && <div class={result === "ok" ? "good" : "bad"}>{result}</div>}
            </th>
            <td class="track">
              {ms !== undefined && (
                <div class={`bar-of ${kind}`} style={{ marginLeft: percent(fromMs), width: percent(ms) }} />
              )}
            </td>
            <td class="ms">{msText(ms)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">Total</th>
          <td />
          <td class="ms">{msText(totalMs)}</td>
        </tr>
      </tbody>
    </table>
  );
}
