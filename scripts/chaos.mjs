// Calls over a network that fails and to servers that are killed: `node scripts/chaos.mjs [--seconds n] [--seed n] [--write-docs]`.
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
const restarts = join(folder, "restarts");
const links = join(folder, "links");
const env = {
  QUICRPC_CHAOS_SECONDS: values.seconds,
  QUICRPC_CHAOS_SEED: values.seed,
  QUICRPC_CHAOS_ACCOUNTS: accounts,
  QUICRPC_CHAOS_RESTARTS: restarts,
  QUICRPC_CHAOS_LINKS: links,
};
const { code } = await run([...tool.vitest, "run", "test/chaos"], { env });
const [rows, restartRows, linkRows] = [accounts, restarts, links].map((file) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)),
);
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
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
const restartText = table(
  [
    "| over | clients | lost sessions and failed dials | half of them called again after | all of them |",
    "|---|---:|---:|---:|---:|",
  ],
  restartRows.map(({ scheme, clients, failures, half, all }) => [
    `\`${scheme}//\``,
    ...[clients, failures].map((count) => count.toLocaleString("en")),
    ...[half, all].map(seconds),
  ]),
);
const linkText = table(
  ["| the link | answers again over QUIC after | over WebTransport |", "|---|---:|---:|"],
  linkRows[0].after.map(({ name }, step) => [
    name,
    ...linkRows.map(({ after }) => `${after[step].seconds.toFixed(2)} s`),
  ]),
);
console.log(`${text}\n\n${restartText}\n\n${linkText}`);
if (values["write-docs"]) {
  const places = { chaos: text, restarts: restartText, links: linkText };
  await writePlaces("docs/guarantees.md", "node scripts/chaos.mjs --write-docs", places);
}
process.exit(code);
