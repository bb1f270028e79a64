import type { JSX } from "preact";
import { useObserved } from "./observed.js";
import { Plot, type PlotLine, rateOf } from "./plot.js";
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

interface PlotOfSession {
  readonly label: string;
  readonly lines: readonly PlotLine[];
}

const PLOTS: readonly PlotOfSession[] = [
  {
    label: "Round trip, ms",
    lines: [
      { name: "smoothed", valueOf: ({ sample: { stats } }) => stats.rttMs },
      { name: "shortest", valueOf: ({ sample: { stats } }) => stats.minRttMs },
    ],
  },
  {
    label: "Bytes per second",
    lines: [
      { name: "received", valueOf: rateOf("receivedBytes") },
      { name: "sent", valueOf: rateOf("sentBytes") },
    ],
  },
  {
    label: "Packets lost and copied, per second",
    lines: [
      { name: "lost", valueOf: rateOf("lostPackets") },
      { name: "copied", valueOf: rateOf("copiedPackets") },
    ],
  },
  {
    label: "Congestion window, bytes",
    lines: [{ name: "window", valueOf: ({ sample: { stats } }) => stats.congestionWindow }],
  },
  {
    label: "Streams",
    lines: [
      { name: "open", valueOf: ({ sample: { stats } }) => stats.openStreams },
      { name: "that wait", valueOf: ({ sample: { stats } }) => stats.waitingStreams },
    ],
  },
];

/** The session's live state, plotted, and whose network it is. */
export function NetworkView({ target }: { readonly target: Target }): JSX.Element {
  useObserved(target);
  const last = target.samples.at(-1)?.sample;
  const isKnown = ({ lines }: PlotOfSession): boolean =>
    lines.some(({ valueOf }) => target.samples.some((point) => typeof valueOf(point, undefined) === "number"));
  return (
    <section class="network" aria-label="Network">
      <p>
        {target.network === "" ? "Not known yet." : `Measured: ${target.network}.`}{" "}
        {last !== undefined && <Status sample={last} />}
      </p>
      {last !== undefined && (
        <>
          <div class="plots">
            {PLOTS.filter(isKnown).map(({ label, lines }) => (
              <Plot key={label} target={target} label={label} lines={lines} />
            ))}
          </div>
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
                    <td class={text === "unknown" ? "dim" : ""}>{text}</td>
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

function Status({ sample: { status, error, sessions, transport, reason } }: { readonly sample: Sample }): JSX.Element {
  const reconnects = Math.max(0, sessions - 1);
  return (
    <>
      The connection is {status}
      {error === undefined ? "" : `: ${error}`}; {reconnects} {reconnects === 1 ? "reconnect" : "reconnects"} so far.
      {transport !== undefined && ` It runs over ${transport}${reason === undefined ? "" : `, since ${reason}`}.`}
    </>
  );
}
