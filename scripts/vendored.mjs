// The crate that packages/quic/native/vendor has in a changed form: what its registry has, with the patch of
// packages/quic/native/patches. Compares; `--write` makes it anew, after a change of the patch; `--test` runs the crate's
// tests with it, those that the patch brings too. Needs cargo, git and, once, the network.
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

/** The folder of the crate as it was published. */
async function published() {
  const project = join(work, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src/lib.rs"), "");
  const needs = `${NAME} = { version = "=${VERSION}", default-features = false }`;
  writeFileSync(
    join(project, "Cargo.toml"),
    `[package]\nname = "project"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n${needs}\n`,
  );
  for (const offline of [["--offline"], []]) {
    const { code, output } = await run(["metadata", "--format-version", "1", ...offline], {
      command: "cargo",
      cwd: project,
      capture: true,
      env: { CARGO_TERM_QUIET: "true" },
    });
    if (code === 127) return undefined;
    if (code !== 0) continue;
    const { packages } = JSON.parse(output.slice(output.indexOf("{")));
    return dirname(packages.find(({ name }) => name === NAME).manifest_path);
  }
  return undefined;
}

function files(folder, within = folder) {
  const entries = readdirSync(within, { withFileTypes: true });
  const found = entries.flatMap((entry) => {
    const path = join(within, entry.name);
    return entry.isDirectory() ? files(folder, path) : relative(folder, path);
  });
  return found.filter((path) => !LEFT_OUT.test(path)).sort();
}

const source = await published();
if (source === undefined) {
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
