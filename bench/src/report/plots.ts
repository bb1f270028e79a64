import type { FarRow } from "../far.js";
import type { Quartiles } from "../median.js";
import type { Row } from "../rows.js";
import type { Results } from "./results.js";
import { FONT, paper, style } from "../../../site/drawing.mjs";

interface Bar {
  readonly name: string;
  readonly value: number;
  /** Quartiles of the rounds, drawn as a line across the bar's end. */
  readonly quartiles?: Quartiles | undefined;
}

interface Chart {
  readonly file: string;
  readonly title: string;
  readonly unit: string;
  readonly better: "longer" | "shorter";
  readonly bars: readonly Bar[];
}

/** Narrow enough for a phone; a name is above its bar, and its value behind it. */
const WIDTH = 480;
const LEFT = 12;
const VALUES = 110;
const ROW = 34;
const TOP = 56;

/** Returns the charts of a report, by file name. */
export function plots({
  rows,
  far,
}: Results): { readonly file: string; readonly title: string; readonly svg: string }[] {
  const rates = (file: string, workload: string, title: string): Chart => {
    const chosen = rows.filter((row) => row.workload === workload && row.perSecond !== undefined);
    const bars = chosen.map(({ contestant, perSecond = 0, perSecondQuartiles }) => ({
      name: contestant,
      value: perSecond,
      quartiles: perSecondQuartiles,
    }));
    return { file, title, unit: `${chosen[0]?.unit ?? ""} per second`, better: "longer", bars };
  };
  const charts: Chart[] = [
    rates("in-flight", "512 in flight", "Calls, 512 in flight"),
    rates("sequential", "sequential", "Calls, one after the other"),
    {
      file: "cpu",
      title: "CPU time of a call, client and server together, 64 in flight",
      unit: "µs",
      better: "shorter",
      bars: rows.filter(({ workload }) => workload === "64 in flight").flatMap(cpuBar),
    },
    rates("items", "server stream of small items", "Small items of a server stream"),
    rates("echo", "echo 64 KiB, 8 in flight", "Echo of 64 KiB, 8 in flight"),
    {
      file: "loss",
      title: "500 calls, 128 in flight, 16 ms round trip, 3% of packets lost",
      unit: "ms, mean",
      better: "shorter",
      bars: far.filter(isLossy).map(({ contestant, meanMs = 0, quartilesMs }) => ({
        name: contestant,
        value: meanMs,
        quartiles: quartilesMs,
      })),
    },
  ];
  return charts.filter(({ bars }) => bars.length > 0).map((chart) => ({ ...chart, svg: barChart(chart) }));
}

function cpuBar({ contestant, clientCpu, serverCpu, cpuQuartiles }: Row): Bar[] {
  if (clientCpu === undefined || serverCpu === undefined) return [];
  return [{ name: contestant, value: clientCpu + serverCpu, quartiles: cpuQuartiles }];
}

function isLossy({ link, workload, meanMs }: FarRow): boolean {
  return link === "16 ms, 3% lost" && workload === "500 empty calls x 128" && meanMs !== undefined;
}

/** Draws horizontal bars, the best first; quicrpc's are highlighted. */
function barChart({ title, unit, better, bars }: Chart): string {
  const sorted = [...bars].sort((a, b) => (better === "longer" ? b.value - a.value : a.value - b.value));
  const most = Math.max(...sorted.map(({ value, quartiles: [, high] = [value, value] }) => Math.max(value, high)));
  const height = TOP + sorted.length * ROW + 8;
  const room = WIDTH - VALUES;
  const lines = sorted.map(({ name, value, quartiles: [low, high] = [value, value] }, index) => {
    const y = TOP + index * ROW;
    const to = (amount: number): number => Math.max(1, (amount / most) * room);
    const length = to(value);
    const kind = name.startsWith("quicrpc") ? "own" : "other";
    return [
      `<text class="name ${kind}" x="${LEFT}" y="${y + 14}">${escape(name)}</text>`,
      `<rect class="${kind}" x="${LEFT}" y="${y + 19}" width="${length.toFixed(1)}" height="10" rx="2"/>`,
      ...(high > low ? [errorBar(LEFT + to(low), LEFT + to(high), y + 24)] : []),
      `<text class="value" x="${(LEFT + Math.max(length, to(high)) + 6).toFixed(1)}" y="${y + 29}">${digits(value)}</text>`,
    ].join("");
  });
  const styles = style(
    (colors) => `
text { font: 13px ${FONT}; fill: ${colors.text}; }
.title { font-weight: 600; }
.unit, .value { fill: ${colors.quiet}; }
.name.own { font-weight: 600; }
.paper { fill: ${colors.paper}; }
rect.own { fill: ${colors.own}; }
rect.other { fill: ${colors.other}; }
path { stroke: ${colors.text}; stroke-width: 1.5; fill: none; }
`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${escape(title)}</title>
${styles}
${paper({ width: WIDTH, height })}
<text class="title" x="${LEFT}" y="24">${escape(title)}</text>
<text class="unit" x="${LEFT}" y="43">${escape(unit)}; ${better} is better</text>
${lines.join("\n")}
</svg>
`;
}

/** Draws a line with two ends. */
function errorBar(from: number, to: number, y: number): string {
  const end = (x: number): string => `M${x.toFixed(1)} ${y - 4}v8`;
  return `<path d="${end(from)}${end(to)}M${from.toFixed(1)} ${y}H${to.toFixed(1)}"/>`;
}

function digits(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
