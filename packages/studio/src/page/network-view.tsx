import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useObserved } from "./observed.js";
import type { Target } from "./target.js";

const ROWS = [
  ["rttMs", "Round trip", "ms"],
  ["minRttMs", "Shortest round trip", "ms"],
  ["congestionWindow", "Congestion window", "bytes"],
  ["sentBytes", "Sent", "bytes"],
  ["receivedBytes", "Received", "bytes"],
  ["sentPackets", "Packets sent", ""],
  ["lostPackets", "Packets lost", ""],
  ["copiedPackets", "Packets copied", ""],
  ["sentDatagrams", "Datagrams sent", ""],
  ["receivedDatagrams", "Datagrams received", ""],
  ["openStreams", "Streams open", ""],
  ["waitingStreams", "Streams that wait", ""],
] as const;
const HEIGHT = 140;

/** The session's live state, plotted, and whose network it is. */
export function NetworkView({ target }: { readonly target: Target }): JSX.Element {
  useObserved(target);
  const last = target.samples.at(-1)?.sample;
  return (
    <section class="network" aria-label="Network">
      <p>
        {target.network === "" ? "Not known yet." : `Measured: ${target.network}.`}{" "}
        {last !== undefined && <Status sample={last} />}
      </p>
      {last !== undefined && (
        <>
          <Plot target={target} label="Round trip, ms" unit="ms" valueOf={({ stats }) => stats.rttMs} />
          <Plot target={target} label="Received, bytes" unit="bytes" valueOf={({ stats }) => stats.receivedBytes} />
          <table>
            <tbody>
              {ROWS.map(([name, label, unit]) => {
                const value = last.stats[name];
                const text =
                  value === undefined || value === null
                    ? "unknown"
                    : `${Number(value.toFixed(2)).toLocaleString("en")} ${unit}`;
                return (
                  <tr key={name}>
                    <th scope="row">{label}</th>
                    <td>{text}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}

type Sample = Target["samples"][number]["sample"];

function Status({ sample: { status, error, sessions } }: { readonly sample: Sample }): JSX.Element {
  const reconnects = Math.max(0, sessions - 1);
  return (
    <>
      The connection is {status}
      {error === undefined ? "" : `: ${error}`}; {reconnects} {reconnects === 1 ? "reconnect" : "reconnects"} so far.
    </>
  );
}

interface PlotProps {
  readonly target: Target;
  readonly label: string;
  readonly unit: string;
  readonly valueOf: (sample: Sample) => number | null | undefined;
}

function Plot({ target, label, unit, valueOf }: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current as HTMLDivElement;
    const color = getComputedStyle(box).color;
    const axis = {
      stroke: color,
      grid: { stroke: "rgba(128,128,128,.25)" },
      ticks: { stroke: "rgba(128,128,128,.25)" },
    };
    const plot = new uPlot(
      {
        width: box.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        axes: [axis, { ...axis, size: 70 }],
        series: [{}, { label: unit, stroke: color, width: 2, points: { show: false } }],
      },
      dataOf(target, valueOf),
      box,
    );
    const stop = target.subscribe(() => plot.setData(dataOf(target, valueOf)));
    const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth || 300, height: HEIGHT }));
    resized.observe(box);
    return () => {
      stop();
      resized.disconnect();
      plot.destroy();
    };
  }, [target]);
  return (
    <figure>
      <figcaption>{label}</figcaption>
      <div class="plot" ref={place} role="img" aria-label={`${label}, over the last minutes`} />
    </figure>
  );
}

function dataOf({ samples }: Target, valueOf: PlotProps["valueOf"]): [number[], (number | null)[]] {
  return [samples.map(({ at }) => at), samples.map(({ sample }) => valueOf(sample) ?? null)];
}
