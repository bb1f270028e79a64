// Compares the CPU time of the hot paths before and after a change: npm run bench:paired -- [BASE [CHANGE]]
//
// BASE is a commit (default: where this branch left main), CHANGE another (default: this checkout, with what is not committed).
// Fails when a path takes more than 3.5 % longer, not by chance, and a repeat with twice as many processes says so too. Processes of
// both take turns, slice by slice, so that other work on the machine disturbs both alike; every launch has two new processes. Two
// minutes where nothing else runs; what seems to have lost takes another.
//
//   --only TEXT        paths whose name has TEXT; may be repeated
//   --launches N       pairs of processes (default 8)
//   --rounds N         slices of each path in each process (default 25)
//   --json             for scripts
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { PairedProcess } from "./paired-process.mjs";
import { commitOf, git, olderVersion } from "../scripts/older-version.mjs";
import { isLoss, isSuspect, LIMIT, ratioOf } from "./paired-statistics.mjs";
import { fail, root, setup } from "../scripts/setup.mjs";

/** CPU time that a slice is to take, in microseconds. */
const SLICE_MICROS = 15_000;
const WARM_UP_MICROS = 600_000;
/** Code is compiled at the same call in every process, and garbage is collected at the end of a slice and nowhere else. */
const FLAGS = [
  "--expose-gc",
  "--single-threaded-gc",
  "--no-concurrent-recompilation",
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", multiple: true },
    launches: { type: "string", default: "8" },
    rounds: { type: "string", default: "25" },
    json: { type: "boolean", default: false },
  },
});
const [launches, rounds] = [Number(values.launches), Number(values.rounds)];
/** Launches of a repeat: few paths are repeated, and it decides. */
const REPEATED = 2 * launches;
if (!(launches >= 2 && rounds >= 5)) fail("--launches takes at least 2, --rounds at least 5.", "", 2);

await setup();
const base = await versionOf(positionals[0] ?? mergeBase());
const change = positionals[1] === undefined ? await checkout() : await versionOf(positionals[1]);
const results = await measure();
report(results);
process.exit(results.some(({ loss }) => loss) ? 1 : 0);

function mergeBase() {
  for (const main of ["origin/main", "main"]) {
    try {
      return git("merge-base", main, "HEAD");
    } catch {
      // The other may be there.
    }
  }
  return fail("There is no branch main to compare with: name a commit.", "", 2);
}

/** The peer of a commit: its packages and its generated code under the hot paths of this checkout. */
async function versionOf(name) {
  const commit = commitOf(name);
  return { name: commit.slice(0, 10), peer: await peerOf(await olderVersion(commit), "bench/paired-peer.mjs") };
}

async function checkout() {
  return { name: "this checkout", peer: await peerOf(root, "bench/.cache/paired-peer.mjs") };
}

async function peerOf(folder, output) {
  const generated = {
    name: "generated",
    setup: ({ onResolve }) => {
      onResolve({ filter: /^\.\/generated\// }, ({ path }) => {
        const found = join(folder, "bench/src", path.replace(/\.js$/, ".ts"));
        return existsSync(found) ? { path: found } : { errors: [{ text: `${folder} has no ${path}` }] };
      });
    },
  };
  const outfile = join(folder, output);
  await build({
    entryPoints: [join(root, "bench/src/paired-peer.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    plugins: [generated],
    logLevel: "error",
  });
  return outfile;
}

/** Every path that both have; those that seem to have lost a second time. */
async function measure() {
  const first = await pairsOf((name) => values.only?.some((text) => name.includes(text)) ?? true, launches, "");
  const judged = [...first].map(([name, pairs]) => ({ name, pairs, first: ratioOf(pairs) }));
  const suspects = new Set(judged.filter((one) => isSuspect(one.first)).map(({ name }) => name));
  const again = suspects.size > 0 ? await pairsOf((name) => suspects.has(name), REPEATED, "again, ") : new Map();
  return judged.map(({ name, pairs, first }) => {
    const repeated = again.get(name);
    if (repeated === undefined) return { name, ...first, repeated: false, loss: false };
    const together = ratioOf([...pairs, ...repeated]);
    return { name, ...together, repeated: true, loss: isLoss(ratioOf(repeated), together) };
  });
}

/** By path: for each launch the pairs of slices. */
async function pairsOf(wanted, count, what) {
  const found = new Map();
  for (let launch = 0; launch < count; launch++) {
    progress(`${what}launch ${launch + 1} of ${count}`);
    // The one that is started first differs from launch to launch.
    const order = launch % 2 === 0 ? [base, change] : [change, base];
    const started = [];
    try {
      for (const version of order) started.push(await PairedProcess.start(version, FLAGS));
      const [one, other] = launch % 2 === 0 ? started : started.toReversed();
      const both = one.paths.filter((name) => other.paths.includes(name) && wanted(name));
      if (both.length === 0) fail("There is no such path in both versions.", "", 2);
      for (const name of both) {
        const runs = await warmUp(one, other, name);
        const pairs = [];
        for (let round = 0; round < rounds; round++) pairs.push(await pairOf(one, other, name, runs, round % 2 === 0));
        found.set(name, [...(found.get(name) ?? []), pairs]);
      }
    } finally {
      for (const peer of started) peer.stop();
    }
  }
  progress();
  return found;
}

/** Until both are compiled; returns how many runs make a slice. */
async function warmUp(one, other, name) {
  let runs = 1;
  for (let spent = 0; spent < WARM_UP_MICROS; ) {
    const micros = await one.slice(name, runs);
    await other.slice(name, runs);
    spent += micros;
    runs = Math.min(200, Math.max(1, Math.round((runs * SLICE_MICROS) / Math.max(1, micros))));
  }
  return runs;
}

async function pairOf(one, other, name, runs, oneFirst) {
  if (oneFirst) return [await one.slice(name, runs), await other.slice(name, runs)];
  const later = await other.slice(name, runs);
  return [await one.slice(name, runs), later];
}

function report(results) {
  const [from, to] = [base.name, change.name];
  if (values.json) {
    console.log(JSON.stringify({ base: from, change: to, launches, rounds, limit: LIMIT, results }, null, 2));
    return;
  }
  console.log(
    `CPU time of ${to} beside ${from}, Node ${process.versions.node}, ${launches} launches of ${rounds} rounds\n`,
  );
  const width = Math.max(...results.map(({ name }) => name.length));
  for (const { name, ratio, low, high, repeated, loss } of results) {
    const said = loss ? "LOSS" : repeated ? "not confirmed" : "";
    console.log(`${name.padEnd(width)}  ${percent(ratio)}  (${percent(low)} to ${percent(high)})  ${said}`.trimEnd());
  }
  const losses = results.filter(({ loss }) => loss);
  if (losses.length === 0) console.log("\nNo path takes longer.");
  else
    console.log(
      `\n${losses.length} of ${results.length} paths take over ${(LIMIT * 100).toFixed(1)} % more CPU time than before.`,
    );
}

function percent(ratio) {
  const change = (ratio - 1) * 100;
  return `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(1)} %`.padStart(8);
}

/** One line that says what is going on, where someone looks. */
function progress(text = "") {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
