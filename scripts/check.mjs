// Runs every gate, several at a time and whichever of them fail, and ends with one line for each.
import { availableParallelism } from "node:os";
import { npm, run, setup } from "./setup.mjs";

const gates = [
  "gen:check",
  "typecheck",
  "lint",
  "format:check",
  "knip",
  "packages:check",
  "check:rust",
  "size",
  "docs:check",
];
/** Compares times: nothing else runs meanwhile. */
const timed = ["bench:guard"];
/** Each holds a compiler's memory. */
const MOST_AT_ONCE = 4;

await setup();
const lines = new Map();
let failed = 0;
const waiting = [...gates];
await Promise.all(Array.from({ length: Math.min(availableParallelism(), MOST_AT_ONCE) }, () => runAll(waiting)));
await runAll([...timed]);
for (const gate of lines.keys()) console.log(lines.get(gate));
process.exit(failed === 0 ? 0 : 1);

async function runAll(queue) {
  for (let gate = queue.shift(); gate !== undefined; gate = queue.shift()) lines.set(gate, await passes(gate));
}

/** Runs a gate, shows what it says where it fails, and returns its line. */
async function passes(gate) {
  const started = performance.now();
  const { args, ...how } = npm(["run", "--silent", ...gate.split(" ")]);
  const { code, output } = await run(args, { ...how, capture: true });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (code !== 0) {
    failed += 1;
    console.log(`── npm run ${gate}\n${output.trimEnd()}\n`);
  }
  const skipped = output.match(/^skipped: .*/m)?.[0];
  return `${code === 0 ? (skipped === undefined ? "ok    " : "      ") : "FAILED"} ${gate} (${skipped ?? `${seconds} s`})`;
}
