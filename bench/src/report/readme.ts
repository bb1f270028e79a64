import { CAPNP, FLOOR, GRPC_GO, GRPC_JS, type Results } from "./results.js";

const WORKLOADS = [
  "sequential, both on one core",
  "64 in flight",
  "512 in flight",
  "echo 64 KiB, 8 in flight",
  "server stream of small items",
  "200 MB one way",
];
const CONTESTANTS = ["quicrpc, lane", "quicrpc, stream per call", GRPC_JS, GRPC_GO, CAPNP, FLOOR];

const BEGIN = "<!-- of the last full run: npm run bench -- --full --write-docs -->";
const END = "<!-- end -->";

/** The text of the README with the most telling rows between its two marks. */
export function withTable(readme: string, results: Results): string {
  const [before, rest] = readme.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md has no "${BEGIN}" and "${END}"`);
  return `${before}${BEGIN}\n${table(results)}\n${END}${after}`;
}

function table({ rows, machine, date }: Results): string {
  const lines = WORKLOADS.flatMap((workload) => {
    const of = (name: string) => rows.find((row) => row.workload === workload && row.contestant === name);
    const floor = of(FLOOR)?.perSecond;
    return CONTESTANTS.flatMap((name) => {
      const { perSecond, clientCpu = 0, serverCpu = 0, unit = "" } = of(name) ?? {};
      if (perSecond === undefined || floor === undefined) return [];
      const cells = [workload, name, `${perSecond.toLocaleString("en")} ${unit}`, (perSecond / floor).toFixed(2)];
      return `| ${cells.join(" | ")} | ${(clientCpu + serverCpu).toLocaleString("en", { maximumSignificantDigits: 3 })} |`;
    });
  });
  return [
    "| | | per second | floor = 1 | CPU µs each |",
    "|---|---|---:|---:|---:|",
    ...lines,
    "",
    `${date} UTC, Node ${machine.node.slice(1)}, ${machine.cores} x ${machine.cpu}, medians of a full run.`,
  ].join("\n");
}
