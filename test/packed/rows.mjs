// Rows of projects that are tried with the packed packages, one after the other: for toolchains.mjs and frameworks.mjs.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { pack } from "../../scripts/pack.mjs";
import { fail, npm, run, setup } from "../../scripts/setup.mjs";

/** For what hangs: a bundle of React Native takes four minutes where others work too. */
const LIMIT_MS = 900_000;
const ANSWER_MS = 30_000;

/**
 * Tries the rows with the words of the command line in their names, in `projects`. A project has
 * - `fill(folder)`: gives it its files, a package.json with all that it depends on among them: our packages are those packed here;
 * - `before`: a day, if the packages of others are to be those of that day;
 * - `rows`, each with some of
 *   - `commands`: each has to end by itself, and well unless the row is `fails`. What the last writes matches `expect`;
 *   - `serve`: a command that runs while `call(url)` is made. It prints its URL, or the row has it: `url`;
 *   - `env`: environment of all of them.
 * `call` resolves to what is wrong, if anything is.
 */
export async function tryRows(projects) {
  await setup();
  const scratch = mkdtempSync(join(tmpdir(), "quicrpc-rows-"));
  process.on("exit", () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
  const packed = await pack(join(scratch, "tarballs"));
  const wanted = process.argv.slice(2).join(" ");
  const faults = [];
  for (const [index, { fill, rows, before }] of projects.entries()) {
    const chosen = rows.filter(({ name }) => name.includes(wanted));
    if (chosen.length === 0) continue;
    const folder = join(scratch, `project-${index}`);
    mkdirSync(folder);
    fill(folder);
    const missing = await faultOfInstall(folder, packed, before);
    for (const row of chosen) {
      const fault = missing ?? (await faultOfCommands(folder, row)) ?? (await faultOfCalls(folder, row));
      console.log(`${fault === undefined ? "ok    " : "FAILED"} ${row.name}`);
      if (fault !== undefined) faults.push(`── ${row.name}\n${fault}`);
    }
  }
  if (faults.length > 0) fail(faults.join("\n"));
}

/** Our packages come from their tarballs, those that they depend on too. With `before` those of others come first, and stay. */
async function faultOfInstall(folder, packed, before) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const ours = Object.fromEntries(packed.map(({ name, path }) => [name, `file:${path}`]));
  const of = (change) => {
    const kinds = ["dependencies", "devDependencies"].map((kind) => [kind, Object.entries(manifest[kind] ?? {})]);
    return Object.fromEntries(kinds.map(([kind, entries]) => [kind, Object.fromEntries(entries.flatMap(change))]));
  };
  const others = of(([name, range]) => (name in ours ? [] : [[name, range]]));
  const all = of(([name, range]) => [[name, ours[name] ?? range]]);
  const fault = before && (await faultOfNpm(folder, { ...manifest, ...others }, [`--before=${before}`]));
  return fault ?? (await faultOfNpm(folder, { ...manifest, ...all, overrides: ours }, []));
}

async function faultOfNpm(folder, manifest, options) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const { args, ...how } = npm(["install", "--prefer-offline", "--no-audit", "--no-fund", ...options]);
  const { code, output } = await run(args, { ...how, cwd: folder, capture: true });
  return code === 0 ? undefined : `npm install failed.\n${output}`;
}

async function faultOfCommands(folder, { commands = [], env, expect = /^/, fails = false }) {
  let last = "";
  for (const command of commands) {
    const { args, ...how } = npm(["exec", "--offline", "--", ...command.split(" ")]);
    const limits = { cwd: folder, env: { NO_COLOR: "1", ...env }, capture: true, timeout: LIMIT_MS };
    const { code, output } = await run(args, { ...how, ...limits });
    last = output;
    if ((code !== 0) !== fails) return `${command}: exit code ${code}\n${output.slice(-3000)}`;
  }
  return expect.test(last) ? undefined : `nothing matches ${expect}:\n${last.slice(-3000)}`;
}

async function faultOfCalls(folder, { serve, url, env, call }) {
  if (serve === undefined) return undefined;
  const [command, ...args] = serve.split(" ");
  const path = [join(folder, "node_modules/.bin"), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: path, NO_COLOR: "1", ...env },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const closed = new Promise((resolve) => child.once("close", resolve));
  try {
    const at = url ?? (await printedUrl(child));
    await listening(at);
    return await call(at);
  } catch (error) {
    return `${error.message}\n${said}`;
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}

/** The first URL that a server prints. */
async function printedUrl(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const [found] = /http:\/\/\S+/.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error("it ended without saying where it serves");
}

/** Not every server listens when it prints, or prints anything: it is asked until it answers. */
async function listening(url) {
  for (const until = Date.now() + ANSWER_MS; ; ) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
