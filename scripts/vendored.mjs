// Checks that the crate in packages/quic/native/vendor is the published one with the patch of packages/quic/native/patches.
// `--write` writes the crate again, after a change of the patch. `--test` also runs the crate's tests, with those of the patch.
// `--advisories` also looks for advisories, with cargo-deny: for the engine's dependencies without the patch, since advisories
// name crates of the registry. Needs cargo, git and, once, the network.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fail, root, run } from "./setup.mjs";

const native = join(root, "packages/quic/native");
const NAME = "quinn-proto";
const [patch] = readdirSync(join(native, "patches"));
const VERSION = /^quinn-proto-(.+)\.patch$/.exec(patch)?.[1];
const vendored = join(native, "vendor", NAME);
/** Files of the registry alone, and the tests, which run here and nowhere else. */
const LEFT_OUT = /^(\.cargo.*|Cargo\.lock|Cargo\.toml\.orig|src[/\\]tests[/\\].*)$/;

const work = mkdtempSync(join(tmpdir(), "vendored-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** The engine's manifest without the patch: it resolves to the crate as published, in the version that the patch is for. */
function unpatched() {
  const manifest = readFileSync(join(native, "Cargo.toml"), "utf8");
  const sections = manifest.split(/^(?=\[)/m).filter((section) => !section.startsWith("[patch."));
  // A second requirement of the same crate: cargo takes one version that meets both.
  const pinned = `[target."cfg(any())".dependencies]\n${NAME} = { version = "=${VERSION}", default-features = false }\n`;
  return [...sections, pinned].join("\n");
}

/** Resolves the engine's dependencies without the patch. Returns the project's manifest and the folder of the crate. */
async function resolve() {
  const project = join(work, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src/lib.rs"), "");
  writeFileSync(join(project, "Cargo.toml"), unpatched());
  cpSync(join(native, "Cargo.lock"), join(project, "Cargo.lock"));
  let output = "";
  for (const offline of [["--offline"], []]) {
    const ended = await run(["metadata", "--format-version", "1", ...offline], {
      command: "cargo",
      cwd: project,
      capture: true,
      env: { CARGO_TERM_QUIET: "true" },
    });
    output = ended.output;
    if (ended.code !== 0) continue;
    const { packages } = JSON.parse(output.slice(output.indexOf("{")));
    const found = packages.filter(({ name }) => name === NAME);
    const shipped = found.filter(({ version, source }) => version === VERSION && source?.startsWith("registry+"));
    if (found.length !== 1 || shipped.length !== 1) {
      const versions = found.map(({ version, source }) => `${version} of ${source ?? "a folder"}`).join(" and ");
      fail(`Without its patch the engine uses ${NAME} ${versions}, and not ${VERSION} of the registry.`);
    }
    return { manifest: join(project, "Cargo.toml"), source: dirname(shipped[0].manifest_path) };
  }
  return { output };
}

function files(folder, within = folder) {
  const entries = readdirSync(within, { withFileTypes: true });
  const found = entries.flatMap((entry) => {
    const path = join(within, entry.name);
    return entry.isDirectory() ? files(folder, path) : relative(folder, path);
  });
  return found.filter((path) => !LEFT_OUT.test(path)).sort();
}

const { manifest, source, output } = await resolve();
const advisories = process.argv.includes("--advisories");
if (source === undefined) {
  if (advisories) fail(`cargo could not resolve ${NAME} ${VERSION} from its registry.`, output);
  console.log(`skipped: needs cargo, and ${NAME} ${VERSION} from its registry`);
  process.exit(0);
}
const patched = join(work, NAME);
cpSync(source, patched, { recursive: true });
const applied = await run(["apply", "-p1", join(native, "patches", patch)], {
  command: "git",
  cwd: patched,
  capture: true,
});
if (applied.code !== 0) fail(`${patch} does not apply to ${NAME} ${VERSION}.`, applied.output);

if (process.argv.includes("--write")) {
  rmSync(vendored, { recursive: true, force: true });
  for (const path of files(patched)) cpSync(join(patched, path), join(vendored, path));
}
const [expected, present] = [files(patched), existsSync(vendored) ? files(vendored) : []];
const differs = [...new Set([...expected, ...present])].filter((path) => {
  const both = expected.includes(path) && present.includes(path);
  const text = (folder) => readFileSync(join(folder, path), "utf8").replaceAll("\r", "");
  return !both || text(patched) !== text(vendored);
});
if (differs.length > 0) {
  fail(`packages/quic/native/vendor is not ${NAME} ${VERSION} with its patch: ${differs.join(", ")}.`);
}
if (process.argv.includes("--test")) {
  const tested = await run(["test", "--quiet", "--lib"], { command: "cargo", cwd: patched });
  process.exit(tested.code);
}
if (advisories) {
  console.log(`advisories for the engine's crates, with ${NAME} ${VERSION} as published:`);
  const deny = ["deny", "--manifest-path", manifest, "--config", join(native, "deny.toml"), "check", "advisories"];
  process.exit((await run(deny, { command: "cargo" })).code);
}
