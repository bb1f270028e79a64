import { GRPC_GO, GRPC_JS, type Results } from "./results.js";
import type { Row } from "../rows.js";

const OWN = "quicrpc";
const CONTESTANTS = [OWN, GRPC_GO, GRPC_JS];

/** The three numbers of the README: label, workload, and format. */
const NUMBERS: readonly (readonly [string, string, (row: Row) => string])[] = [
  ["calls per second, 64 at once", "64 in flight", rate],
  ["CPU time per call, client and server together", "64 in flight", cpu],
  ["small stream items per second", "server stream of small items", rate],
];

const BEGIN = "<!-- of the last full run: npm run bench -- --full --write-docs -->";
const END = "<!-- end -->";

/** Returns the text of the README with the three numbers between its two marks. */
export function withNumbers(readme: string, results: Results): string {
  const [before, rest] = readme.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md has no "${BEGIN}" and "${END}"`);
  return `${before}${BEGIN}\n${table(results)}\n${END}${after}`;
}

function table({ rows, machine, date }: Results): string {
  const lines = NUMBERS.map(([name, workload, read]) => {
    const cells = CONTESTANTS.map((contestant) => {
      const row = rows.find((one) => one.workload === workload && one.contestant === contestant);
      return row?.perSecond === undefined ? "" : read(row);
    });
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return [
    `| | ${CONTESTANTS.join(" | ")} |`,
    "|---|---:|---:|---:|",
    ...lines,
    "",
    `${date} UTC, Node ${machine.node.slice(1)}, ${machine.cores} x ${machine.cpu}, medians of a full run.`,
  ].join("\n");
}

function rate({ perSecond = 0 }: Row): string {
  return perSecond.toLocaleString("en");
}

function cpu({ clientCpu = 0, serverCpu = 0 }: Row): string {
  return `${(clientCpu + serverCpu).toLocaleString("en", { maximumSignificantDigits: 3 })} µs`;
}
