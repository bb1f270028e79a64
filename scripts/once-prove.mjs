// Calls that take effect once, over a network that fails, to servers and stores that are killed: `node scripts/once-prove.mjs [--calls n] [--seed n]`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "./docs.mjs";
import { run, setup, tool } from "./setup.mjs";

const { values } = parseArgs({
  options: { calls: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-once-"));
const accounts = join(folder, "accounts");
const env = { QUICRPC_ONCE_CALLS: values.calls, QUICRPC_ONCE_SEED: values.seed, QUICRPC_ONCE_ACCOUNTS: accounts };
const { code } = await run([...tool.vitest, "run", "test/chaos/once.test.ts"], { env });
const rows = readFileSync(accounts, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });
const columns = [
  "calls",
  "kills",
  "stops",
  "blackouts",
  "answered",
  "unknown",
  "unknownEffects",
  "twice",
  "missing",
  "hung",
];
console.log(
  table(
    [
      "| store | calls | killed | stopped | blackouts | answered | unknown | of those with effect | effects twice | without effect | hung |",
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ],
    rows.map((row) => [row.store, ...columns.map((column) => row[column].toLocaleString("en"))]),
  ),
);
process.exit(code);
