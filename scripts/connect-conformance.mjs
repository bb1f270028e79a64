// Holds @quicrpc/http to the Connect protocol's own suite: `node scripts/connect-conformance.mjs [--write-docs] [server|grpc|client|grpc-client] [argument of the runner…]`.
// Its runner is built by Go, once. With --write-docs the totals are written into docs/connect-conformance.md.
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run, setup } from "./setup.mjs";

const VERSION = "v1.0.7";
const MODULE = "connectrpc.com/conformance/cmd/connectconformance";
const folder = join(root, "test/connect-conformance");
const tools = join(root, ".cache/connectconformance", VERSION);
const runner = join(tools, process.platform === "win32" ? "connectconformance.exe" : "connectconformance");
const page = join(root, "docs/connect-conformance.md");

const given = process.argv.slice(2).filter((argument) => argument !== "--write-docs");
const modes = ["server", "grpc", "client", "grpc-client"];
const [only, ...rest] = modes.includes(given[0]) ? given : [undefined, ...given];

if (!existsSync(runner)) {
  const { code } = await run(["version"], { command: "go", capture: true });
  if (code !== 0) {
    console.log("skipped: the runner of the Connect protocol's suite is built by Go, which is not on the PATH");
    process.exit(0);
  }
  mkdirSync(tools, { recursive: true });
  const built = await run(["install", `${MODULE}@${VERSION}`], { command: "go", env: { GOBIN: tools }, capture: true });
  if (built.code !== 0) fail("the runner could not be built", built.output);
}
await setup({ engineOptional: true });

const totals = [];
for (const mode of only === undefined ? modes : [only]) totals.push(await hold(mode));
if (process.argv.includes("--write-docs")) writeTotals();
process.exit(totals.some(({ code }) => code !== 0) ? 1 : 0);

/** Runs the suite against the program of one mode. */
async function hold(mode) {
  const outfile = join(folder, ".cache", `${mode}.mjs`);
  const program = mode.endsWith("client") ? "client" : "server";
  const entryPoints = [join(folder, `${program}.ts`)];
  const how = { bundle: true, platform: "node", format: "esm", packages: "external", logLevel: "error" };
  await build({ ...how, entryPoints, outfile });
  const config = join(folder, mode.startsWith("grpc") ? `${mode}.yaml` : "config.yaml");
  const args = ["--mode", program, "--conf", config, ...rest, "--", process.execPath, outfile];
  const { code, output } = await run(args, { command: runner, capture: true });
  const text = /^(Total cases: (\d+)\n(\d+) passed, (\d+) failed[^]*)$/m.exec(output);
  console.log(`${mode}: ${code === 0 ? (text?.[1] ?? output).trim().replace("\n", ", ") : output.trim()}`);
  return { mode, code, cases: text?.[2], passed: text?.[3], failed: text?.[4] };
}

/** Writes the totals between the page's marks. */
function writeTotals() {
  const rows = totals.map(({ mode, cases, passed, failed }) => `| ${mode} | ${cases} | ${passed} | ${failed} |`);
  const table = ["| mode | cases | passed | failed |", "|---|---|---|---|", ...rows].join("\n");
  const marked = /(<!-- totals -->\n)[^]*(\n<!-- end of totals -->)/;
  const text = readFileSync(page, "utf8");
  writeFileSync(
    page,
    text.replace(marked, (_, start, end) => `${start}\n${table}\n${end}`),
  );
}
