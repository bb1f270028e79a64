import type { JSX } from "preact";
import { useObserved } from "./observed.js";
import { Plot, type PlotLine, rateOf, statOf } from "./plot.js";
import type { ServerTarget } from "./target.js";

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
  ["lanes", "Lanes", ""],
  ["laneCalls", "Calls in lanes", ""],
  ["streamCalls", "Calls with streams of their own", ""],
  ["sendCredit", "Credit to send in lanes", "bytes"],
  ["receiveCredit", "Credit to receive in lanes", "bytes"],
  ["receiveWindow", "Receive window of all streams", "bytes"],
  ["heldBytes", "Held for the server", "bytes"],
] as const;

interface PlotOfSession {
  readonly label: string;
  readonly lines: readonly PlotLine[];
}

const PLOTS: readonly PlotOfSession[] = [
  {
    label: "Round trip, ms",
    lines: [
      { name: "smoothed", valueOf: statOf("rttMs") },
      { name: "shortest", valueOf: statOf("minRttMs") },
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
    lines: [{ name: "window", valueOf: statOf("congestionWindow") }],
  },
  {
    label: "Streams and lanes",
    lines: [
      { name: "open", valueOf: statOf("openStreams") },
      { name: "that wait", valueOf: statOf("waitingStreams") },
      { name: "lanes", valueOf: statOf("lanes") },
    ],
  },
  {
    label: "Calls in progress",
    lines: [
      { name: "in lanes", valueOf: statOf("laneCalls") },
      { name: "on their own", valueOf: statOf("streamCalls") },
    ],
  },
  {
    label: "Credit and what is held, bytes",
    lines: [
      { name: "to send", valueOf: statOf("sendCredit") },
      { name: "to receive", valueOf: statOf("receiveCredit") },
      { name: "held", valueOf: statOf("heldBytes") },
    ],
  },
];

/** Plots measurements of the session, and states which network they belong to. */
export function NetworkView({ target }: { readonly target: ServerTarget }): JSX.Element {
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

type Sample = ServerTarget["samples"][number]["sample"];

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
