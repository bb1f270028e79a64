// npm run frameworks: examples/frameworks on runtimes that are no part of the repository's own installation, from the packed tarballs:
// Bun, Deno and workerd, which runs Cloudflare Workers. Each serves, and is called over HTTP. Needs the network and some minutes.
//   npm run frameworks -- Bun     the rows with "Bun" in their names
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pack } from "./pack.mjs";
import { fail, npm, root, run, setup } from "./setup.mjs";

const PORT = 8787;
const tools = { bun: "^1.3.0", deno: "^2.5.0", esbuild: "^0.28.0", workerd: "^1.20261117.0", zod: "^4.6.7" };
const packages = ["@quicrpc/core", "@quicrpc/http"];

const workerd = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .greeter)],
  sockets = [(name = "http", address = "127.0.0.1:${PORT}", http = (), service = "main")],
);
const greeter :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "out/worker.mjs")],
  compatibilityDate = "2026-01-01",
);
`;

/** What makes each ready, what serves, and where, unless it says so by itself. */
const rows = [
  { name: "Bun", serve: ["bun", "src/bun.ts"] },
  { name: "Deno", serve: ["deno", "run", "--unstable-sloppy-imports", "--allow-all", "src/deno.ts"] },
  {
    name: "Cloudflare Workers",
    build:
      "esbuild src/worker.ts --bundle --format=esm --conditions=workerd,worker --log-level=error --outfile=out/worker.mjs",
    serve: ["workerd", "serve", "config.capnp"],
    url: `http://127.0.0.1:${PORT}`,
  },
];

await setup();
const scratch = mkdtempSync(join(tmpdir(), "quicrpc-frameworks-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
const project = join(scratch, "project");
await install();
const wanted = process.argv.slice(2).join(" ");
const faults = [];
for (const row of rows.filter(({ name }) => name.includes(wanted))) {
  const fault = await attempt(row);
  console.log(`${row.name}: ${fault === undefined ? "ok" : "failed"}`);
  if (fault !== undefined) faults.push(`${row.name}: ${fault}`);
}
if (faults.length > 0) fail(faults.join("\n"));

async function install() {
  mkdirSync(project);
  const packed = await pack(join(scratch, "tarballs"));
  const tarballs = packed.filter(({ name }) => packages.includes(name));
  const dependencies = { ...tools, ...Object.fromEntries(tarballs.map(({ name, path }) => [name, `file:${path}`])) };
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  writeFileSync(join(project, "config.capnp"), workerd);
  cpSync(join(root, "examples/frameworks/src"), join(project, "src"), { recursive: true });
  const { args, ...how } = npm(["install", "--prefer-offline", "--no-audit", "--no-fund"]);
  const { code, output } = await run(args, { ...how, cwd: project, capture: true });
  if (code !== 0) fail(`npm install: ${output}`);
}

/** Returns what was wrong; undefined where the calls were answered. */
async function attempt({ build, serve: [command, ...args], url }) {
  const bin = join(project, "node_modules/.bin");
  if (build !== undefined) {
    const { args: building, ...how } = npm(["exec", "--offline", "--", ...build.split(" ")]);
    const { code, output } = await run(building, { ...how, cwd: project, capture: true });
    if (code !== 0) return output;
  }
  const child = spawn(join(bin, command), args, { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    return await call(url ?? (await Promise.race([printedUrl(child), ended])));
  } catch (error) {
    return `${error.message}\n${said}`;
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

/** The URL that a server prints when it is ready. */
async function printedUrl(child) {
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("http://")) return line;
  throw new Error("it ended without saying where it serves");
}

async function call(url) {
  const base = `${url}/rpc/demo.v1.Greeter`;
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"Ada"}' };
  const { text } = await (await answered(`${base}/greet`, init)).json();
  if (text !== "Hello, Ada!") return `greet answered ${text}`;
  const message = encodeURIComponent('{"from":2}');
  const events = await fetch(`${base}/count?message=${message}`, { headers: { accept: "text/event-stream" } });
  const stream = await events.text();
  return /data: 2\s+data: 1\s+event: end/.test(stream) ? undefined : `count answered ${stream}`;
}

/** A server that prints nothing is asked until it listens. */
async function answered(url, init) {
  for (let attempts = 100; ; attempts--) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (attempts === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
