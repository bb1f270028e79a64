import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CertificateFiles } from "./certificate.js";
import type { CodecRow } from "./codecs.js";
import { compare } from "./compare.js";
import { overLinks } from "./far.js";
import { growth } from "./growth.js";
import { linkObstacle } from "./link.js";
import type { Piece } from "./micro.js";
import { isNearest, matches, type Peer } from "./peers.js";
import { planOf } from "./plan.js";
import { pinned } from "./process-pair.js";
import { progress } from "./progress.js";
import { documentOf } from "./report/document.js";
import { withNumbers } from "./report/readme.js";
import type { Results, Types } from "./report/results.js";
import { versions } from "./report/versions.js";
import { machine, type Row } from "./rows.js";
import { workloads } from "./workloads.js";

export interface FullRun {
  readonly peers: readonly Peer[];
  readonly certificate: CertificateFiles;
  readonly skipped: readonly string[];
  readonly command: string;
  /** Runs only workloads whose name contains one of these. Default: all. */
  readonly only: readonly string[] | undefined;
}

/** The links of a full run, a subset of those of `npm run bench link`. */
const FAR =
  /^16 ms, (0% lost|3% lost|3% lost in bursts of 3): (500 empty calls x 128|256 echoes|connect)|^16 ms, 20 Mbit/;

/** Runs every workload that the page shows, with all contestants or the nearest. The page states how long it took. */
export async function fullRun({ peers, certificate, skipped, command, only }: FullRun): Promise<Results> {
  const began = performance.now();
  const chosen = (name: string): boolean => matches(name, only);
  // First those that may be missing: that is known early.
  progress("the pieces");
  const pieces = output<Piece[]>("micro.js");
  const codecs = output<CodecRow[]>("codecs.js");
  const types = output<Types>("types.js");
  const obstacle = linkObstacle();
  const nearest = peers.filter(({ name }) => isNearest(name));
  const onLink = (name: string): boolean => FAR.test(name) && chosen(name);
  const over = { certificate, rounds: 20, rtt: 16, budgetMs: 1_000, chosen: onLink };
  const far = obstacle === undefined ? await overLinks(nearest, over) : [];
  const grown = chosen("growth") ? await growth(peers, certificate) : [];
  const rows: Row[] = [];
  for (const workload of workloads.filter(({ name }) => chosen(name))) {
    const plan = planOf(workload, peers);
    rows.push(...(await compare(workload, plan.peers, { certificate, ...plan.pace })));
  }
  const results: Results = {
    machine: machine(),
    command,
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    minutes: 0,
    pinned,
    versions: versions(),
    skipped: obstacle === undefined ? skipped : [...skipped, `bad networks: ${obstacle}`],
    rows,
    growth: grown,
    far,
    pieces,
    codecs,
    types,
  };
  progress();
  return { ...results, minutes: Math.round((performance.now() - began) / 60_000) };
}

/** Runs a program of the bench and parses its JSON output. */
function output<T>(script: string): T {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return JSON.parse(execFileSync(process.execPath, [path, "--json"], { encoding: "utf8" })) as T;
}

export function readResults(path: string): Results {
  return JSON.parse(readFileSync(path, "utf8")) as Results;
}

/** Writes the page, its plots, their results, and the numbers in the README. */
export function writeDocs(results: Results): void {
  const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const readme = withNumbers(readFileSync(fileOf("README.md"), "utf8"), results);
  for (const { path, text } of [
    ...documentOf(results).map(({ path, text }) => ({ path: `docs/${path}`, text })),
    { path: "docs/benchmarks/results.json", text: `${JSON.stringify(results, null, 2)}\n` },
    { path: "README.md", text: readme },
  ]) {
    const file = fileOf(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
