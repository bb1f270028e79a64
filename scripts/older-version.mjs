// Packages of an older commit, built once and kept in .cache/older: for comparing this version with it.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleForNode } from "./bundles.mjs";
import { root, step, tool } from "./setup.mjs";

const cache = join(root, ".cache/older");
/** The packages that are compared. They are built with the packages that they depend on; others are left out. */
const COMPARED = ["http", "node"];

export function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 }).trim();
}

/** The whole hash of a commit that is named in any way. */
export const commitOf = (name) => git("rev-parse", `${name}^{commit}`);

/** The folder of a commit, with its packages built; dependencies of others are those of this checkout. Its engine needs cargo. */
export async function olderVersion(commit) {
  const folder = join(cache, commit);
  const done = join(folder, "built");
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = join(cache, "archive.tar");
  git("archive", "--output", archive, commit, "package.json", "tsconfig.base.json", "packages", "bench/src");
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
  const scope = join(folder, "node_modules/@quicrpc");
  mkdirSync(scope, { recursive: true });
  const built = withDependencies(folder);
  for (const name of readdirSync(join(folder, "packages"))) {
    if (!built.has(name)) {
      rmSync(join(folder, "packages", name), { recursive: true });
      continue;
    }
    rmSync(join(folder, "packages", name, "test"), { recursive: true, force: true });
    symlinkSync(join(folder, "packages", name), join(scope, name), "junction");
    const nested = join(root, "packages", name, "node_modules");
    if (existsSync(nested)) symlinkSync(nested, join(folder, "packages", name, "node_modules"), "junction");
  }
  reuseEngine(folder);
  const advice = "The older version does not build.";
  await step("engine of the older version", ["packages/quic/scripts/build-native.mjs"], { cwd: folder, advice });
  const packages = COMPARED.map((name) => `packages/${name}`);
  const tsc = tool.tsc.map((part) => join(root, part));
  await step("build of the older version", [...tsc, "-b", ...packages], { cwd: folder, advice });
  await bundleForNode(join(folder, "packages"));
  writeFileSync(done, "");
  return folder;
}

/** Returns the names of the compared packages of a commit, and of the packages that they depend on. */
function withDependencies(folder) {
  const names = new Set(COMPARED);
  // Names that are added meanwhile are visited too.
  for (const name of names) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "packages", name, "package.json"), "utf8"));
    for (const dependency of Object.keys(dependencies)) {
      const [, local] = /^@quicrpc\/(.+)$/.exec(dependency) ?? [];
      if (local !== undefined && existsSync(join(folder, "packages", local))) names.add(local);
    }
  }
  return names;
}

/** Copies this checkout's engine, with the note of what it was built from: where its sources are those of the older version, nothing is built. */
function reuseEngine(folder) {
  for (const part of ["prebuilds", "native/target"]) {
    const ours = join(root, "packages/quic", part);
    if (!existsSync(ours)) continue;
    const filter = (path) => path === ours || /\.(node|stamp)$/.test(path);
    cpSync(ours, join(folder, "packages/quic", part), { recursive: true, filter });
  }
}
