// Packs what is published, as npm publishes it: `node scripts/pack.mjs <folder> [--all] [--json]`. Every package gets the licence; each
// platform's engine is a package of its own, which @quicrpc/quic names as optional if it is packed. With --all it fails unless there is an
// engine for every platform, fit to be published; otherwise it packs the engines that were built.
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { faultsOf } from "../packages/quic/scripts/engine-checks.mjs";
import { PLATFORMS } from "../packages/quic/scripts/platforms.mjs";
import { projectsIn } from "./output.mjs";
import { fail, npm, root, run } from "./setup.mjs";

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
/** The folders of what is published, dependencies first, so that no published package ever names one that is not there yet. */
export const FOLDERS = inOrder();
const prebuilds = join(root, "packages/quic/prebuilds");
const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
const engineOf = (platform) => join(prebuilds, `${platform}.node`);
const packageOf = (platform) => `@quicrpc/quic-${platform}`;

function inOrder() {
  const folders = projectsIn(join(root, "packages"));
  const manifests = folders.map((folder) => [folder, read(join(root, "packages", folder, "package.json"))]);
  const waiting = new Map(manifests.filter(([, manifest]) => manifest.private !== true));
  const names = new Set([...waiting.values()].map(({ name }) => name));
  const ordered = [];
  while (waiting.size > 0) {
    const ready = [...waiting].filter(
      ([, { dependencies = {} }]) => !Object.keys(dependencies).some((name) => names.has(name)),
    );
    if (ready.length === 0) throw new Error(`${[...waiting.keys()].join(", ")} depend on each other`);
    for (const [folder, { name }] of ready) {
      ordered.push(folder);
      waiting.delete(folder);
      names.delete(name);
    }
  }
  return ordered;
}

/** The package of one platform's engine. */
function stageEngine(stage, platform, { version, license, repository, engines }) {
  const { os, cpu, libc } = PLATFORMS[platform];
  const platformFields = { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
  write(join(stage, "package.json"), {
    name: packageOf(platform),
    version,
    description: `The QUIC engine of @quicrpc/quic for ${platform}.`,
    license,
    repository,
    engines,
    ...platformFields,
    main: "engine.node",
    files: ["engine.node", "THIRD-PARTY.md"],
  });
  copyFileSync(engineOf(platform), join(stage, "engine.node"));
  copyFileSync(join(root, "packages/quic/native/THIRD-PARTY.md"), join(stage, "THIRD-PARTY.md"));
  const text = `# ${packageOf(platform)}\n\nThe QUIC engine of [@quicrpc/quic](https://www.npmjs.com/package/@quicrpc/quic) for ${platform}. That package installs it.\n`;
  writeFileSync(join(stage, "README.md"), text);
}

/** A package as it lies in packages/, without what is not published. */
function stagePackage(stage, folder, version, platforms) {
  const from = join(root, "packages", folder);
  for (const part of ["dist", "bundle", "script", "src", "templates", "README.md"]) {
    if (existsSync(join(from, part))) cpSync(join(from, part), join(stage, part), { recursive: true });
  }
  const manifest = read(join(from, "package.json"));
  const { devDependencies: _, scripts: __, ...published } = manifest;
  if (folder === "quic") {
    const names = platforms.map(packageOf);
    published.optionalDependencies = Object.fromEntries(names.map((name) => [name, manifest.version]));
  }
  const text = JSON.stringify(published, (_, value) => (value === manifest.version ? version : value));
  write(join(stage, "package.json"), JSON.parse(text));
}

const quic = read(join(root, "packages/quic/package.json"));

/** Packs into `out`, each package in a folder whose name says its turn. Returns their names and tarballs. */
export async function pack(out, { all = false, version = quic.version } = {}) {
  const platforms = Object.keys(PLATFORMS).filter((platform) => all || existsSync(engineOf(platform)));
  if (all) checkEngines();
  const stages = [
    ...platforms.map((platform) => (stage) => stageEngine(stage, platform, { ...quic, version })),
    ...FOLDERS.map((folder) => (stage) => stagePackage(stage, folder, version, platforms)),
  ];
  const scratch = mkdtempSync(join(tmpdir(), "quicrpc-pack-"));
  try {
    const folders = stages.map((fill, index) => {
      const stage = join(scratch, String(index));
      mkdirSync(stage);
      fill(stage);
      copyFileSync(join(root, "LICENSE"), join(stage, "LICENSE"));
      return stage;
    });
    // All by one npm: to start it takes longer than to pack.
    const { args, ...how } = npm([
      "pack",
      ...folders,
      "--json",
      "--loglevel=error",
      "--ignore-scripts",
      "--pack-destination",
      scratch,
    ]);
    const { code, output } = await run(args, { ...how, capture: true });
    if (code !== 0) throw new Error(`npm pack: ${output}`);
    const packed = JSON.parse(output.slice(output.indexOf("[\n"), output.lastIndexOf("]") + 1));
    return folders.map((stage, index) => {
      const { name } = read(join(stage, "package.json"));
      const { filename, size, unpackedSize, files } = packed.find((each) => each.name === name);
      const to = resolve(out, String(index + 10));
      mkdirSync(to, { recursive: true });
      const path = join(to, basename(filename));
      copyFileSync(join(scratch, basename(filename)), path);
      return { name, path, size, unpackedSize, files: files.map(({ path }) => path) };
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function checkEngines() {
  const faults = Object.keys(PLATFORMS).flatMap((platform) => {
    if (!existsSync(engineOf(platform))) return [`${platform}: there is no engine in packages/quic/prebuilds`];
    return faultsOf(platform, engineOf(platform)).map((fault) => `${platform}: ${fault}`);
  });
  if (faults.length > 0) fail(`These engines cannot be published:\n${faults.join("\n")}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [out, ...options] = process.argv.slice(2);
  if (out === undefined) fail("node scripts/pack.mjs <folder> [--all] [--json]");
  const packed = await pack(out, { all: options.includes("--all") });
  if (options.includes("--json")) console.log(JSON.stringify(packed.map(({ name, path }) => ({ name, path }))));
  else for (const { name, size } of packed) console.log(`${name}: ${Math.round(size / 1000)} kB`);
}
