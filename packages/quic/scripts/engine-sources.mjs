// Writes the sources of quinn-proto that the engine is built from: the published crate of the version and checksum in
// native/Cargo.toml, with the patches of native/patches. Cargo gets the crate from its registry, or from its cache.
// Usage: node scripts/engine-sources.mjs [--test], which also runs the crate's own tests with those of the patches.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PLATFORMS, platformName } from "./platforms.mjs";

const native = fileURLToPath(new URL("../native", import.meta.url));
const NAME = "quinn-proto";
const manifest = readFileSync(join(native, "Cargo.toml"), "utf8");
const [, VERSION, CHECKSUM] = /^quinn-proto = \{ version = "(.+)", checksum = "(.+)" \}$/m.exec(manifest);
const patched = join(native, /^quinn-proto = \{ path = "(.+)" \}$/m.exec(manifest)[1]);
const ADAPT = "docs/design.md says how to change the version (To update).";
const patches = readdirSync(join(native, "patches"))
  .filter((name) => name.endsWith(".patch"))
  .sort((one, other) => parseInt(one) - parseInt(other))
  .map((name) => join(native, "patches", name));

export function stop(message, output = "") {
  console.error(`${output}native engine: ${message}`);
  process.exit(1);
}

/**
 * Writes a project into `folder` whose dependencies are the engine's, with quinn-proto as published. Returns its manifest. The
 * lockfile pins version and checksum, so that `cargo --locked` accepts no other crate.
 */
export function writeUnpatched(folder) {
  const sections = manifest.split(/^(?=\[)/m).filter((section) => !section.startsWith("[patch."));
  const lock = readFileSync(join(native, "Cargo.lock"), "utf8").replaceAll("\r", "");
  const [source] = /^source = .+$/m.exec(lock);
  const entry = `name = "${NAME}"\nversion = "${VERSION}"\n`;
  if (!lock.includes(entry)) stop(`Cargo.lock has another version of ${NAME} than ${VERSION}. ${ADAPT}`);
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src/lib.rs"), "");
  writeFileSync(join(folder, "Cargo.toml"), sections.join(""));
  writeFileSync(join(folder, "Cargo.lock"), lock.replace(entry, `${entry}${source}\nchecksum = "${CHECKSUM}"\n`));
  return join(folder, "Cargo.toml");
}

/** Folder of the published crate, from cargo's cache if that has all crates of this platform. */
function published(folder) {
  const args = ["metadata", "--format-version", "1", "--locked", "--manifest-path", writeUnpatched(folder)];
  const triple = PLATFORMS[platformName()]?.target;
  if (triple !== undefined) args.push("--filter-platform", triple);
  let ended;
  for (const offline of [["--offline"], []]) {
    ended = spawnSync("cargo", [...args, ...offline], { encoding: "utf8", maxBuffer: 2 ** 26 });
    if (ended.status !== 0) continue;
    const found = JSON.parse(ended.stdout).packages.find(({ name }) => name === NAME);
    return dirname(found.manifest_path);
  }
  stop(`cargo could not get ${NAME} ${VERSION}.`, ended.stderr ?? `${ended.error}\n`);
}

/** Writes the patched crate, unless it is there. */
export function writeEngineSources() {
  const hash = createHash("sha256").update(`${VERSION} ${CHECKSUM}`);
  for (const patch of patches) hash.update(readFileSync(patch));
  const stamp = join(patched, "quicrpc.stamp");
  const wanted = hash.digest("hex");
  const isWritten = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
  if (isWritten()) return;
  const work = mkdtempSync(join(tmpdir(), "engine-sources-"));
  const copy = `${patched}.${process.pid}`;
  process.on("exit", () => {
    for (const folder of [work, copy]) rmSync(folder, { recursive: true, force: true });
  });
  cpSync(published(work), copy, { recursive: true });
  // Git takes the paths as relative to `copy` only if it finds no repository above it, and none in its variables.
  const outside = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")));
  outside.GIT_CEILING_DIRECTORIES = dirname(copy);
  for (const patch of patches) {
    const applied = spawnSync("git", ["apply", "-p1", patch], {
      cwd: copy,
      encoding: "utf8",
      env: outside,
    });
    if (applied.status !== 0)
      stop(`${patch} does not apply to ${NAME} ${VERSION}. ${ADAPT}`, applied.stderr ?? `${applied.error}\n`);
  }
  writeFileSync(join(copy, "quicrpc.stamp"), wanted);
  // Another process may have written it in the meantime, and cargo may be reading it.
  if (isWritten()) return;
  rmSync(patched, { recursive: true, force: true });
  try {
    renameSync(copy, patched);
  } catch (error) {
    if (!isWritten()) throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeEngineSources();
  if (process.argv[2] === "--test") {
    process.exit(spawnSync("cargo", ["test", "--quiet", "--lib"], { cwd: patched, stdio: "inherit" }).status ?? 1);
  }
}
