// Calls over a network that fails and to servers that are killed: `npm run chaos -- [--seconds n] [--seed n] [--write-docs]`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table, writePlaces } from "./docs.mjs";
import { run, setup, tool } from "./setup.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    "write-docs": { type: "boolean", default: false },
  },
});

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-chaos-"));
const accounts = join(folder, "accounts");
const env = {
  QUICRPC_CHAOS_SECONDS: values.seconds,
  QUICRPC_CHAOS_SEED: values.seed,
  QUICRPC_CHAOS_ACCOUNTS: accounts,
};
const { code } = await run([...tool.vitest, "run", "test/chaos"], { env });
const rows = readFileSync(accounts, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });

const head = [
  "| over | servers killed | calls | answered | failed | hung | wrong | ran twice | untrue errors | handlers forgotten | works again after |",
  "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
];
const text = table(
  head,
  rows.map((row) => {
    const { scheme, kills, calls, answered, failed, hung, wrong, twice, untrue, forgotten, recovered } = row;
    const counts = [kills, calls, answered, failed, hung, wrong, twice, untrue, forgotten];
    return [`\`${scheme}//\``, ...counts.map((count) => count.toLocaleString("en")), `${recovered.toFixed(2)} s`];
  }),
);
console.log(text);
if (values["write-docs"]) await writePlaces("docs/guarantees.md", "npm run chaos -- --write-docs", { chaos: text });
process.exit(code);
