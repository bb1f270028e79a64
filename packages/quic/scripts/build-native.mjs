// Builds the native engine with cargo and copies it to prebuilds/<platform>-<arch>[-gnu|-musl].node.
// Skips the build when sources and lockfile are unchanged. `--possible` builds nothing: exit code 0 where there is an engine, or
// could be.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const crate = join(root, "native");
const target = join(crate, "target");
const prebuilds = join(root, "prebuilds");

/** Mirrors `platformName` in src/native.ts. */
function platformName() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return name;
  return `${name}-${process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "gnu"}`;
}

function sources(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? sources(join(directory, entry.name)) : join(directory, entry.name)))
    .sort();
}

function fingerprint() {
  const hash = createHash("sha256");
  const files = [
    ...sources(join(crate, "src")),
    ...["Cargo.toml", "Cargo.lock", "build.rs"].map((name) => join(crate, name)),
  ];
  for (const file of files) hash.update(relative(crate, file)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

const library =
  { win32: "quicrpc_quic.dll", darwin: "libquicrpc_quic.dylib" }[process.platform] ?? "libquicrpc_quic.so";
const output = join(prebuilds, `${platformName()}.node`);
const stamp = join(target, `${platformName()}.stamp`);
const wanted = fingerprint();

if (process.argv.includes("--possible")) {
  process.exit(existsSync(output) || spawnSync("cargo", ["--version"]).status === 0 ? 0 : 1);
}
if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) {
  console.log("native engine: up to date");
  process.exit(0);
}
if (spawnSync("cargo", ["--version"]).error) {
  console.error(
    "native engine: cargo was not found. Install Rust 1.88 or newer with rustup, or use a published @quicrpc/quic, which brings prebuilt engines.",
  );
  process.exit(1);
}
console.log(
  `building the native engine${existsSync(join(target, "release")) ? "" : " (first time: one to two minutes)"}…`,
);
const started = Date.now();
const built = spawnSync("cargo", ["build", "--release", "--locked"], {
  cwd: crate,
  stdio: ["ignore", "inherit", "inherit"],
  env: { ...process.env, CARGO_TARGET_DIR: target },
});
if (built.status !== 0) {
  console.error("native engine: cargo failed; its messages are above.");
  process.exit(1);
}
mkdirSync(prebuilds, { recursive: true });
// Renamed into place: overwriting a library that a process has mapped would crash that process.
copyFileSync(join(target, "release", library), `${output}.new`);
renameSync(`${output}.new`, output);
writeFileSync(stamp, wanted);
console.log(`native engine: built ${relative(root, output)} in ${Math.round((Date.now() - started) / 1000)} s`);
