// Two servers that are restarted in turn under live streams: `node scripts/rolling-restarts.mjs [--restarts n] [--streams n] [--every ms] [--spread ms] [--only text]`.
// A pause is how much longer a reader waits for an item than the log has between two, the longest of each stream in each restart; "quiet" is the
// same in seconds without a restart.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "./docs.mjs";
import { run, setup, tool } from "./setup.mjs";

const { values } = parseArgs({
  options: {
    restarts: { type: "string", default: "100" },
    streams: { type: "string", default: "1000" },
    every: { type: "string", default: "100" },
    spread: { type: "string", default: "500" },
    only: { type: "string", default: "" },
  },
});

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-rolling-"));
const accounts = join(folder, "accounts");
const env = {
  QUICRPC_ROLLING_RESTARTS: values.restarts,
  QUICRPC_ROLLING_STREAMS: values.streams,
  QUICRPC_ROLLING_EVERY_MS: values.every,
  QUICRPC_ROLLING_SPREAD_MS: values.spread,
  QUICRPC_ROLLING_QUIET_MS: "3000",
  QUICRPC_ROLLING_ACCOUNTS: accounts,
};
const only = values.only === "" ? [] : ["-t", values.only];
const { code } = await run([...tool.vitest, "run", "test/rolling/", ...only], { env });
const rows = readFileSync(accounts, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });
const counts = ["streams", "restarts", "items", "errors", "wrong"];
const times = ["quiet", "p50", "p99", "most"];
console.log(
  table(
    [
      "| over | moved by | streams | restarts | items | errors | lost or twice | p99 without a restart | p50 | p99 | longest |",
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ],
    rows.map((row) => [
      row.scheme,
      row.by,
      ...counts.map((column) => row[column].toLocaleString("en")),
      ...times.map((column) => `${row[column]} ms`),
    ]),
  ),
);
process.exit(code);
