// npm run templates: makes a project of each of `quicrpc init`'s templates from the packed tarballs, as a user does, and has each install, generate,
// test, lint, build and run. Needs the network and some minutes.
//   npm run templates -- node react     those templates alone
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { platformName } from "../../packages/quic/scripts/platforms.mjs";
import { freePort } from "../../scripts/free-port.mjs";
import { pack } from "../../scripts/pack.mjs";
import { fail, npm, run, setup } from "../../scripts/setup.mjs";

/** Templates, and the page that each serves while it is developed. */
const TEMPLATES = {
  node: {},
  browser: { page: "http://localhost:5173/main.ts", has: "createGreeterClient" },
  react: { page: "http://localhost:5173/main.tsx", has: "createQueries" },
  monorepo: { page: "http://localhost:5173/src/main.ts", has: "createGreeterClient" },
  next: { page: "http://localhost:3000/", has: "Hello, <!-- -->Next!|Hello, Next!", isNext: true },
};
const PATIENCE_MS = 60_000;

const named = process.argv.slice(2);
for (const name of named.filter((name) => !(name in TEMPLATES)))
  fail(`there is no template ${name}, only ${Object.keys(TEMPLATES).join(", ")}`);
await setup();
const scratch = mkdtempSync(join(tmpdir(), "quicrpc-templates-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
const tarballs = Object.fromEntries(
  (await pack(join(scratch, "tarballs")))
    .filter(({ name }) => !name.startsWith("@quicrpc/quic-") || name === `@quicrpc/quic-${platformName()}`)
    .map(({ name, path }) => [name, `file:${path}`]),
);
await installCreator();
for (const name of named.length > 0 ? named : Object.keys(TEMPLATES)) {
  const started = performance.now();
  await attempt(name).catch((error) => fail(`${name}: ${error.message}`));
  console.log(`${name}: ok, ${Math.round((performance.now() - started) / 1000)} s`);
}

/** Installs what `npm create quicrpc` installs. */
async function installCreator() {
  const folder = join(scratch, "creator");
  mkdirSync(folder);
  const names = ["create-quicrpc", "quicrpc"];
  writeManifest(folder, {
    private: true,
    dependencies: Object.fromEntries(names.map((name) => [name, tarballs[name]])),
    overrides: overrides(names),
  });
  await must(npm(["install", "--prefer-offline", "--no-audit", "--no-fund"]), folder);
}

async function attempt(name) {
  const project = join(scratch, name);
  const creator = join(scratch, "creator/node_modules/create-quicrpc/dist/main.js");
  await must({ args: [creator, project, "--template", name, "--no-install"] }, scratch);
  useTarballs(project);
  await must(npm(["install", "--prefer-offline", "--no-audit", "--no-fund"]), project);
  for (const script of ["gen", "test", "lint", "build"]) await must(npm(["run", script]), project);
  await develop(project, TEMPLATES[name]);
}

/** Has a project's packages be the tarballs: in the registry there are none, or others. */
function useTarballs(project) {
  const folders = readdirSync(project, { recursive: true }).filter((path) => path.endsWith("package.json"));
  for (const path of folders) {
    const folder = join(project, path, "..");
    const manifest = JSON.parse(readFileSync(join(project, path), "utf8"));
    for (const field of ["dependencies", "devDependencies"]) {
      for (const name of Object.keys(manifest[field] ?? {}))
        manifest[field][name] = tarballs[name] ?? manifest[field][name];
    }
    const direct = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    if (path === "package.json") manifest.overrides = overrides(direct);
    writeManifest(folder, manifest);
  }
}

/** Packages that a project does not name itself; npm wants no override of those that it does. */
function overrides(direct) {
  return Object.fromEntries(Object.entries(tarballs).filter(([name]) => !direct.includes(name)));
}

function writeManifest(folder, manifest) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, undefined, 2));
}

/** Runs `npm run dev`, calls the server, and fetches the page. */
async function develop(project, { page, has, isNext = false }) {
  const port = String(await freePort());
  const { args, command = process.execPath, ...how } = npm(["run", "dev"]);
  // A group of processes of its own, so that all of it can be ended.
  const dev = spawn(command, args, {
    cwd: project,
    ...how,
    env: isNext ? process.env : { ...process.env, PORT: port },
    detached: process.platform !== "win32",
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const output of [dev.stdout, dev.stderr]) output.setEncoding("utf8").on("data", (text) => (said += text));
  const ended = new Promise((resolve) => dev.once("close", resolve));
  try {
    if (!isNext) {
      await until(
        () => said.includes("ready in"),
        () => said,
      );
      const quicrpc = join(project, "node_modules/quicrpc/dist/main.js");
      const call = ["call", `https://localhost:${port}/rpc`, "app.v1.Greeter/greet", '{"name":"Ada"}', "--dev"];
      const answer = await must({ args: [quicrpc, ...call] }, project);
      if (!answer.includes('{"text":"Hello, Ada!"}')) throw new Error(`the call was answered with ${answer}`);
    }
    if (page !== undefined)
      await until(
        async () => new RegExp(has).test(await textOf(page)),
        () => said,
      );
  } finally {
    if (process.platform === "win32" || dev.pid === undefined) dev.kill();
    else process.kill(-dev.pid, "SIGTERM");
    await ended;
  }
}

async function textOf(url) {
  return fetch(url).then(
    (response) => response.text(),
    () => "",
  );
}

async function until(condition, said) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`it did not begin within ${PATIENCE_MS / 1000} s:\n${said()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function must({ args, ...how }, cwd) {
  const { code, output } = await run(args, { ...how, cwd, capture: true });
  if (code !== 0) throw new Error(`${args.join(" ")}\n${output}`);
  return output;
}
