import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { RecordableHistogram } from "node:perf_hooks";
import type { SecondSample } from "./load-series.js";

export interface LoadReport {
  readonly title: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
  readonly seconds: readonly SecondSample[];
  /** Distribution of the latencies, in nanoseconds. */
  readonly latency: RecordableHistogram;
}

/** Number of points at which the latency curve is drawn. The last point is at the share of one call in 100,000. */
const STEPS = 68;

/** Creates an HTML page with tables and plots. The page loads no other files. */
export function reportHtml({ title, rows, seconds, latency }: LoadReport): string {
  const { resolve } = createRequire(import.meta.url);
  const script = readFileSync(resolve("uplot/dist/uPlot.iife.min.js"), "utf8");
  const style = readFileSync(resolve("uplot/dist/uPlot.min.css"), "utf8");
  const data = { seconds, quantiles: quantilesOf(latency) };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${style}
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { text-align: start; padding: 0.1rem 1rem 0.1rem 0; }
th { font-weight: normal; opacity: 0.75; }
.u-legend { text-align: start; }
</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<table>${rows.map(([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`).join("\n")}</table>
<h2 id="rate">Calls a second</h2><div data-plot="rate"></div>
<h2 id="latency">Latency over time, milliseconds</h2><div data-plot="latency"></div>
<h2 id="quantiles">Latency by share of calls, milliseconds</h2><div data-plot="quantiles"></div>
<script type="application/json" id="data">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>
<script>${script.replaceAll("</script", "<\\/script")}</script>
<script>${PLOTS}</script>
</body>
</html>
`;
}

/** Returns latencies in milliseconds at percentiles that approach 100. */
function quantilesOf(latency: RecordableHistogram): readonly (readonly [inverse: number, ms: number])[] {
  if (latency.count === 0) return [];
  const inverses = Array.from({ length: STEPS }, (_, step) => 2 ** (step / 4)).filter(
    (inverse) => inverse <= latency.count,
  );
  return inverses.map((inverse) => [inverse, latency.percentile(Math.max(0.001, 100 * (1 - 1 / inverse))) / 1e6]);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const PLOTS = `
const { seconds, quantiles } = JSON.parse(document.getElementById("data").textContent);
const ink = getComputedStyle(document.body).color;
const axis = { stroke: ink, grid: { stroke: "#8884" }, ticks: { stroke: "#8888" } };
const line = (label, stroke) => ({ label, stroke, width: 2, spanGaps: false });
const ms = (u, v) => v == null ? "" : v.toFixed(3) + " ms";
function plot(name, x, series, data, more = {}) {
  const at = document.querySelector('[data-plot="' + name + '"]');
  const width = () => Math.min(900, document.body.clientWidth);
  const made = new uPlot({ width: width(), height: 260, scales: { x: { time: false } }, axes: [axis, { ...axis, size: 70 }], series: [x, ...series], ...more }, data, at);
  addEventListener("resize", () => made.setSize({ width: width(), height: 260 }));
}
const of = (name) => seconds.map((second) => second[name] ?? null);
const at = seconds.map((_, second) => second + 1);
plot("rate", { label: "second" }, [line("calls", "#2a7de1"), line("failed", "#d33")], [at, of("calls"), of("failures")]);
plot("latency", { label: "second" }, [line("p50", "#2a9d5c"), line("p99", "#e08a00"), line("max", "#d33")].map((each) => ({ ...each, value: ms })),
  [at, of("p50"), of("p99"), of("max")]);
const share = (inverse) => +(100 * (1 - 1 / inverse)).toPrecision(6) + "%";
plot("quantiles", { label: "share", value: (u, v) => v == null ? "" : share(v) }, [{ ...line("latency", "#2a7de1"), value: ms }],
  [quantiles.map(([inverse]) => inverse), quantiles.map(([, value]) => value)],
  { scales: { x: { time: false, distr: 3 } }, axes: [{ ...axis, values: (u, splits) => splits.map((each) => each > 0 && Math.log10(each) % 1 === 0 ? share(each) : "") }, { ...axis, size: 70 }] });
`;
