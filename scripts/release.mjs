// Prepares a release: `node scripts/release.mjs 0.2.0` sets the version everywhere and moves "Unreleased" of CHANGELOG.md under it.
// `--check v0.2.0` fails unless everything says that version; `--notes v0.2.0` prints its section of CHANGELOG.md.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, npm, root, run } from "./setup.mjs";

const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const DEPENDENCIES = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
const changelog = join(root, "CHANGELOG.md");
const crate = join(root, "packages/quic/native/Cargo.toml");

/** The workspaces, and the projects of examples that are none. */
const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const manifests = [...workspaces, "examples/frameworks/*"]
  .flatMap((pattern) => {
    const folder = join(root, pattern.replace(/\/\*$/, ""));
    return pattern.endsWith("/*") ? readdirSync(folder).map((name) => join(folder, name)) : [folder];
  })
  .flatMap((folder) => {
    const path = join(folder, "package.json");
    try {
      return [{ path, manifest: JSON.parse(readFileSync(path, "utf8")) }];
    } catch (error) {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
      throw error;
    }
  });
const published = new Set(manifests.flatMap(({ manifest }) => (manifest.private ? [] : [manifest.name])));

/** The lines below a version's heading, without it. */
function notesOf(version) {
  const sections = readFileSync(changelog, "utf8").split(/^## /m);
  const section = sections.find((text) => text.startsWith(`[${version}]`));
  return section?.slice(section.indexOf("\n") + 1).trim();
}

/** Where a package or the changelog says something else. */
function disagreements(version) {
  const packages = manifests.flatMap(({ path, manifest }) => {
    const own = manifest.private || manifest.version === version ? [] : [`${path}: version ${manifest.version}`];
    const named = DEPENDENCIES.flatMap((kind) => Object.entries(manifest[kind] ?? {}));
    const wrong = named.filter(([name, range]) => published.has(name) && range !== version);
    return [...own, ...wrong.map(([name, range]) => `${path}: ${name} ${range}`)];
  });
  return notesOf(version) ? packages : [...packages, `CHANGELOG.md: there is nothing under [${version}]`];
}

async function prepare(version) {
  for (const { path, manifest } of manifests) {
    if (!manifest.private) manifest.version = version;
    for (const kind of DEPENDENCIES) {
      for (const name of Object.keys(manifest[kind] ?? {})) if (published.has(name)) manifest[kind][name] = version;
    }
    writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
  }
  const text = readFileSync(changelog, "utf8");
  const today = new Date().toISOString().slice(0, 10);
  if (notesOf("Unreleased")) {
    writeFileSync(changelog, text.replace("## [Unreleased]\n", `## [Unreleased]\n\n## [${version}] - ${today}\n`));
  }
  writeFileSync(crate, readFileSync(crate, "utf8").replace(/^version = ".*"$/m, `version = "${version}"`));
  const { args, ...how } = npm(["install", "--package-lock-only", "--no-audit", "--no-fund"]);
  const installed = await run(args, { ...how, capture: true });
  if (installed.code !== 0) fail("npm could not write package-lock.json.", installed.output);
  const locked = await run(["update", "--workspace", "--offline"], {
    command: "cargo",
    cwd: join(root, "packages/quic/native"),
    capture: true,
  });
  if (locked.code !== 0) fail("cargo could not write Cargo.lock.", locked.output);
  check(version);
  console.log(`Everything says ${version}. Now: npm run check && npm test, commit, git tag v${version}, push both.`);
}

function check(version) {
  const wrong = disagreements(version);
  if (wrong.length > 0) fail(`Not everything says ${version}:\n${wrong.join("\n")}`);
}

const [first, tag] = process.argv.slice(2);
const version = (tag ?? first ?? "").replace(/^v/, "");
if (!VERSION.test(version)) fail("node scripts/release.mjs 1.2.3, or --check v1.2.3, or --notes v1.2.3");
if (first === "--check") check(version);
else if (first === "--notes") console.log(notesOf(version) ?? fail(`CHANGELOG.md has nothing under [${version}].`));
else await prepare(version);
process.exit(0);
