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
const patches = readdirSync(join(native, "patches"))
  .sort()
  .map((name) => join(native, "patches", name));

function stop(message, output = "") {
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
  if (!lock.includes(entry)) stop(`Cargo.lock has another version of ${NAME} than ${VERSION}.`);
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
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const work = mkdtempSync(join(tmpdir(), "engine-sources-"));
  process.on("exit", () => rmSync(work, { recursive: true, force: true }));
  const copy = `${patched}.${process.pid}`;
  cpSync(published(work), copy, { recursive: true });
  for (const patch of patches) {
    const applied = spawnSync("git", ["apply", "-p1", patch], {
      cwd: copy,
      encoding: "utf8",
      // Otherwise git takes the paths as relative to the root of this repository.
      env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) },
    });
    if (applied.status !== 0)
      stop(`${patch} does not apply to ${NAME} ${VERSION}.`, applied.stderr ?? `${applied.error}\n`);
  }
  writeFileSync(join(copy, "quicrpc.stamp"), wanted);
  rmSync(patched, { recursive: true, force: true });
  renameSync(copy, patched);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeEngineSources();
  if (process.argv[2] === "--test") {
    process.exit(spawnSync("cargo", ["test", "--quiet", "--lib"], { cwd: patched, stdio: "inherit" }).status ?? 1);
  }
}
