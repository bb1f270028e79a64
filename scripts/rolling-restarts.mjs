// Two servers that are restarted in turn under live streams: `npm run rolling-restarts -- [--restarts n] [--streams n]`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { run, setup, tool } from "./setup.mjs";

const { values } = parseArgs({
  options: { restarts: { type: "string", default: "100" }, streams: { type: "string", default: "1000" } },
});

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-rolling-"));
const accounts = join(folder, "accounts");
const env = {
  QUICRPC_ROLLING_RESTARTS: values.restarts,
  QUICRPC_ROLLING_STREAMS: values.streams,
  QUICRPC_ROLLING_ACCOUNTS: accounts,
};
const { code } = await run([...tool.vitest, "run", "test/rolling/"], { env });
console.log(readFileSync(accounts, "utf8").trimEnd());
rmSync(folder, { recursive: true });
process.exit(code);
