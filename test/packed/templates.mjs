// npm run templates: makes a project of each of `quicrpc init`'s templates from the packed tarballs, as a user does, and has each install, generate,
// test, lint, build and run. Needs the network and some minutes.
//   npm run templates -- node react     those templates alone
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { platformName } from "../../packages/quic/scripts/platforms.mjs";
import { freePort } from "../../scripts/free-port.mjs";
import { pack } from "../../scripts/pack.mjs";
import { fail, npm, setup } from "../../scripts/setup.mjs";
import { end, must, start, until } from "./processes.mjs";

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
  const dev = start(npm(["run", "dev"]), project, isNext ? {} : { PORT: port });
  if (!isNext) {
    await until(() => dev.said.includes("ready in"), dev, PATIENCE_MS);
    const quicrpc = join(project, "node_modules/quicrpc/dist/main.js");
    const call = ["call", `https://localhost:${port}/rpc`, "app.v1.Greeter/greet", '{"name":"Ada"}', "--dev"];
    const answer = await must({ args: [quicrpc, ...call] }, project);
    if (!answer.includes('{"text":"Hello, Ada!"}')) throw new Error(`the call was answered with ${answer}`);
  }
  const hasText = async () => new RegExp(has).test(await (await fetch(page)).text());
  if (page !== undefined) await until(hasText, dev, PATIENCE_MS);
  await end(dev);
}
