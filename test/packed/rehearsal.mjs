// npm run release:rehearsal: publishes every package to a registry on this machine, and uses them from there as a new user does: creates a
// project, develops it, calls its server from Chromium over WebTransport, and upgrades it to a next version. Reports seconds and
// megabytes. Needs the network. cargo and rustc are hidden.
//   npm run release:rehearsal -- pnpm yarn     with these package managers; with all by default
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { freePort } from "../../scripts/free-port.mjs";
import { pack } from "../../scripts/pack.mjs";
import { fail, root, setup } from "../../scripts/setup.mjs";
import { end, must, start, until } from "./processes.mjs";

const MOST_SECONDS = 60;
const PATIENCE_MS = 30_000;
/** It is not a dependency, because it has 68 MB. A newer one needs Node 22; not every mirror has the tag by which it names node-fetch. */
const VERDACCIO = { private: true, dependencies: { verdaccio: "6.3.2" }, overrides: { "node-fetch": "2.7.0" } };
/** The packages of package managers, and the megabytes that they may install. yarn installs the linter for musl and for glibc. */
const MANAGERS = {
  npm: { megabytes: 110 },
  pnpm: { version: "pnpm@12.21.0", megabytes: 110 },
  yarn: { version: "yarn@1.22.22", megabytes: 125 },
};
const CHROMIUM = [process.env.QUICRPC_CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);

const managers = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(MANAGERS);
for (const name of managers.filter((name) => !(name in MANAGERS)))
  fail(`there is no package manager ${name}, only ${Object.keys(MANAGERS).join(", ")}`);
await setup();
const scratch = mkdtempSync(join(tmpdir(), "quicrpc-rehearsal-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
const faults = [];
const version = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8")).version;
const next = version.replace(/\d+$/, (patch) => Number(patch) + 1);
const registry = await startRegistry();
becomeNewUser();
await publish(version);
const projects = new Map();
for (const manager of managers) projects.set(manager, await create(manager));
await publish(next);
for (const [manager, project] of projects) await upgrade(manager, project);
if (faults.length > 0) fail(faults.join("\n"));
process.exit(0);

/** Starts verdaccio, which passes requests for other packages on to the registry that npm is configured with. */
async function startRegistry() {
  const tool = join(root, ".cache/verdaccio");
  if (!existsSync(join(tool, "node_modules/verdaccio"))) {
    mkdirSync(tool, { recursive: true });
    writeFileSync(join(tool, "package.json"), JSON.stringify(VERDACCIO));
    await must({ command: "npm", args: ["install", "--ignore-scripts"] }, tool);
  }
  const upstream = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  const config = {
    storage: join(scratch, "storage"),
    uplinks: { upstream: { url: upstream } },
    packages: {
      "@quicrpc/*": { access: "$all", publish: "$all" },
      "{quicrpc,create-quicrpc}": { access: "$all", publish: "$all" },
      "**": { access: "$all", proxy: "upstream" },
    },
    max_body_size: "50mb",
    log: { type: "stdout", format: "json", level: "error" },
  };
  const path = join(scratch, "verdaccio.json");
  writeFileSync(path, JSON.stringify(config));
  const url = `http://127.0.0.1:${await freePort()}/`;
  const args = [join(tool, "node_modules/verdaccio/bin/verdaccio"), "--config", path, "--listen", url];
  const child = start({ args }, scratch);
  await until(async () => (await fetch(`${url}-/ping`)).ok, child, PATIENCE_MS);
  return url;
}

/** Leaves nothing of this machine's user but Node and npm: no caches, no configuration, no Rust. */
function becomeNewUser() {
  for (const name of Object.keys(process.env)) if (/^(npm_|XDG_)/i.test(name)) delete process.env[name];
  const hasRust = (folder) => ["cargo", "rustc"].some((tool) => existsSync(join(folder, tool)));
  const path = process.env.PATH.split(delimiter).filter((folder) => !hasRust(folder));
  process.env.HOME = join(scratch, "home");
  process.env.PATH = [...managers.map((name) => join(scratch, name, "node_modules/.bin")), ...path].join(delimiter);
  mkdirSync(process.env.HOME);
  // npm publishes nothing without a token; this registry accepts any.
  const lines = [`registry=${registry}`, `${registry.replace("http:", "")}:_authToken=any`, "audit=false"];
  writeFileSync(join(process.env.HOME, ".npmrc"), lines.join("\n"));
  // yarn has settings of its own. It installs globally what `yarn create` runs, for root not below HOME.
  const folders = ["prefix", "global-folder", "cache-folder"].map(
    (name) => `${name} "${join(process.env.HOME, name)}"`,
  );
  writeFileSync(join(process.env.HOME, ".yarnrc"), [`registry "${registry}"`, ...folders].join("\n"));
}

async function publish(as) {
  const began = performance.now();
  const folder = join(scratch, `tarballs-${as}`);
  const packed = await pack(folder, { version: as });
  await must({ args: [join(root, "scripts/publish.mjs"), folder] }, root);
  console.log(`published ${packed.length} packages ${as}: ${secondsSince(began)} s`);
}

/** Creates a project, has it serve, and calls it from a page. Returns its folder. */
async function create(manager) {
  const parent = join(scratch, manager);
  mkdirSync(parent);
  writeFileSync(join(parent, "package.json"), '{"private":true}');
  if (MANAGERS[manager].version !== undefined)
    await must({ command: "npm", args: ["install", MANAGERS[manager].version] }, parent);
  const began = performance.now();
  const yes = manager === "npm" ? ["--yes"] : [];
  const said = await must({ command: manager, args: ["create", ...yes, "quicrpc", "my-app"] }, parent);
  const project = join(parent, "my-app");
  const created = secondsSince(began);
  const port = String(await freePort());
  const dev = start({ command: manager, args: ["run", "dev"] }, project, { PORT: port });
  await until(() => dev.said.includes("ready in"), dev, PATIENCE_MS);
  const seconds = secondsSince(began);
  const sizes = weigh(project);
  const megabytes = [...sizes.values()].reduce((sum, size) => sum + size, 0) / 1e6;
  console.log(`${manager}: created in ${created} s, served after ${seconds} s, ${megabytes.toFixed(1)} MB`);
  for (const [name, size] of [...sizes].sort(([, a], [, b]) => b - a).slice(0, 20))
    console.log(`${(size / 1e6).toFixed(1).padStart(8)} MB ${name}`);
  if (seconds > MOST_SECONDS) faults.push(`${manager}: ${seconds} s, at most ${MOST_SECONDS} are allowed`);
  const most = MANAGERS[manager].megabytes;
  if (megabytes > most) faults.push(`${manager}: ${megabytes.toFixed(1)} MB, at most ${most} are allowed`);
  for (const line of said.split("\n").filter((line) => /\bwarn|deprecated|ignored build/i.test(line)))
    faults.push(`${manager}: ${line}`);
  for (const name of withInstallScripts(project)) faults.push(`${manager}: ${name} runs a script when it is installed`);
  await add(manager, project, ["@quicrpc/browser"]);
  await callFromChromium(project, `https://localhost:${port}/rpc`);
  await end(dev);
  return project;
}

function add(manager, project, names) {
  return must({ command: manager, args: [manager === "npm" ? "install" : "add", ...names] }, project);
}

/** Code that the older version generated runs with the newer one, whose command calls the server. */
async function upgrade(manager, project) {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  const ours = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name.includes("quicrpc"));
  await add(
    manager,
    project,
    ours.map(([name]) => `${name}@${next}`),
  );
  const bin = (name) => join(project, "node_modules/.bin", name);
  await must({ command: bin("tsc"), args: ["--noEmit"] }, project);
  await must({ args: ["--import", "tsx", "--test", "src/greeter.test.ts"] }, project);
  const port = String(await freePort());
  const server = start({ command: bin("tsx"), args: ["src/server.ts"] }, project, { PORT: port });
  await until(() => server.said.includes("listening on"), server, PATIENCE_MS);
  const url = `https://localhost:${port}/rpc`;
  const args = ["call", url, "app.v1.Greeter/greet", '{"name":"Ada"}', "--dev"];
  const answer = await must({ command: bin("quicrpc"), args }, project);
  if (!answer.includes('{"text":"Hello, Ada!"}')) fail(`${manager}, after the upgrade: ${answer}`);
  await end(server);
  console.log(`${manager}: ${next} runs what ${version} generated`);
}

async function callFromChromium(project, url) {
  const contents = `
    import { connect } from "@quicrpc/browser";
    import { createGreeterClient } from "./src/generated/greeter.js";
    globalThis.greet = async (url, value) => {
      const serverCertificateHashes = [{ algorithm: "sha-256", value: Uint8Array.from(value) }];
      const connection = await connect(url, { serverCertificateHashes, fallback: false });
      return { kind: connection.transport.kind, ...(await createGreeterClient(connection).greet({ name: "Ada" })) };
    };`;
  const stdin = { contents, resolveDir: project, loader: "ts" };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, target: "es2022" });
  const print = 'import("@quicrpc/node").then(async (m) => console.log(`[${(await m.devCertificate()).hash.value}]`))';
  const hash = JSON.parse(await must({ args: ["-e", print] }, project));
  // A server refuses pages of other hosts.
  const site = createServer((_, response) => response.setHeader("content-type", "text/html").end("<!doctype html>"));
  await new Promise((listening) => site.listen(0, "localhost", listening));
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  await page.goto(`http://localhost:${site.address().port}`);
  await page.addScriptTag({ content: outputFiles[0].text });
  const { kind, text } = await page.evaluate(([url, hash]) => globalThis.greet(url, hash), [url, hash]);
  if (kind !== "webtransport" || text !== "Hello, Ada!") fail(`Chromium, over ${kind}: ${text}`);
  await browser.close();
  site.close();
}

/** Bytes of the packages that a project installs, by name. A file with several names counts once. */
function weigh(project) {
  const sizes = new Map();
  const counted = new Set();
  for (const entry of readdirSync(join(project, "node_modules"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)[1];
    const { ino, size } = statSync(path);
    if (!counted.has(ino)) sizes.set(name, (sizes.get(name) ?? 0) + size);
    counted.add(ino);
  }
  return sizes;
}

/** Packages whose install scripts npm runs or warns about. */
function withInstallScripts(project) {
  const lock = join(project, "node_modules/.package-lock.json");
  if (!existsSync(lock)) return [];
  const { allowScripts = {} } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  const { packages } = JSON.parse(readFileSync(lock, "utf8"));
  const names = Object.keys(packages).filter((path) => packages[path].hasInstallScript);
  return names.map((path) => path.replace(/.*node_modules\//, "")).filter((name) => allowScripts[name] !== false);
}

function secondsSince(began) {
  return Math.round((performance.now() - began) / 100) / 10;
}
