// Attacks on servers, over and over: `node scripts/adversary.mjs [--rounds n] [text of a test's name]`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "./docs.mjs";
import { run, setup, tool } from "./setup.mjs";

const { values, positionals } = parseArgs({
  options: { rounds: { type: "string", default: "20" } },
  allowPositionals: true,
});

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-adversary-"));
const costs = join(folder, "costs");
const env = { QUICRPC_ADVERSARY_ROUNDS: values.rounds, QUICRPC_ADVERSARY_COSTS: costs };
const only = positionals.length === 0 ? [] : ["-t", positionals.join(" ")];
const { code } = await run([...tool.vitest, "run", "test/adversary", ...only], { env });
const MIB = 1_048_576;
const rows = readFileSync(costs, { encoding: "utf8", flag: "a+" })
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });
console.log(
  table(
    [
      "| attack | MiB at the peak | MiB afterwards | others' calls | their p99, ms | CPU of one, ms |",
      "|---|---:|---:|---:|---:|---:|",
    ],
    rows.map(({ attack, peak, after, calls, p99, cpu }) => [
      attack,
      (peak / MIB).toFixed(1),
      (after / MIB).toFixed(1),
      calls.toLocaleString("en"),
      p99.toFixed(1),
      String(cpu),
    ]),
  ),
);
process.exit(code);
