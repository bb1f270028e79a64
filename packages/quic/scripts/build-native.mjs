// Builds the native engine with cargo and copies it to prebuilds/<platform>-<arch>[-gnu|-musl].node.
// Skips the build when sources and lockfile are unchanged. `--possible` builds nothing: exit code 0 where there is an engine, or
// could be.
// Usage: node scripts/build-native.mjs [--platform linux-arm64-musl]. A platform that is named is built for publishing: on Linux by
// cargo-zigbuild, which links against the oldest glibc that is supported (pip install ziglang cargo-zigbuild).
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stop, writeEngineSources } from "./engine-sources.mjs";
import { libraryName, PLATFORMS, platformName } from "./platforms.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const crate = join(root, "native");
const target = join(crate, "target");
const prebuilds = join(root, "prebuilds");

function sources(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? sources(join(directory, entry.name)) : join(directory, entry.name)))
    .sort();
}

function fingerprint() {
  const hash = createHash("sha256");
  const files = [
    ...sources(join(crate, "src")),
    ...sources(join(crate, "patches")),
    ...["Cargo.toml", "Cargo.lock", "build.rs"].map((name) => join(crate, name)),
  ];
  for (const file of files) hash.update(relative(crate, file)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

/** For an engine that is published. They are passed one by one, since the paths in them may contain spaces. */
function rustFlags(triple) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const flags = [`--remap-path-prefix=${cargoHome}=/cargo`, `--remap-path-prefix=${crate}=/engine`];
  // An addon is loaded by a program that is linked to musl already.
  if (triple.includes("musl")) flags.push("-Ctarget-feature=-crt-static");
  // A Windows without Visual C++'s runtime loads it as well.
  if (triple.includes("windows")) flags.push("-Ctarget-feature=+crt-static");
  return flags.join("\x1f");
}

/** The arguments of cargo, and the folder of what it makes. */
function plan(named, platform) {
  if (named === undefined) return { args: ["build"], folder: join(target, "release") };
  const { target: triple, glibc } = PLATFORMS[platform];
  const zig = platform.startsWith("linux");
  const folder = join(target, triple, "release");
  return { args: [zig ? "zigbuild" : "build", "--target", glibc ? `${triple}.${glibc}` : triple], folder };
}

const [option, named] = process.argv.slice(2);
const possible = option === "--possible";
if (option !== undefined && !possible && (option !== "--platform" || PLATFORMS[named] === undefined)) {
  stop(`--platform takes one of ${Object.keys(PLATFORMS).join(", ")}`);
}
const platform = named ?? platformName();
const output = join(prebuilds, `${platform}.node`);
const stamp = join(target, `${platform}.stamp`);
const wanted = `${fingerprint()}${named === undefined ? "" : " published"}`;
if (possible) process.exit(existsSync(output) || spawnSync("cargo", ["--version"]).status === 0 ? 0 : 1);
const last = existsSync(output) && existsSync(stamp) ? readFileSync(stamp, "utf8") : "";

// One that is to be published will do for this machine as well.
if (last === wanted || last === `${wanted} published`) {
  console.log("native engine: up to date");
  process.exit(0);
}
if (spawnSync("cargo", ["--version"]).error) {
  stop(
    "cargo was not found. Install Rust 1.88 or newer with rustup, or use a published @quicrpc/quic, which brings prebuilt engines.",
  );
}
writeEngineSources();
const { args, folder } = plan(named, platform);
console.log(`building the native engine${existsSync(folder) ? "" : " (first time: one to two minutes)"}…`);
const started = Date.now();
const built = spawnSync("cargo", [...args, "--release", "--locked"], {
  cwd: crate,
  stdio: ["ignore", "inherit", "inherit"],
  env: {
    ...process.env,
    CARGO_TARGET_DIR: target,
    // From its sources, also where the system has a library of that name.
    AWS_LC_SYS_USE_SYSTEM: "0",
    ...(named === undefined ? {} : { CARGO_ENCODED_RUSTFLAGS: rustFlags(PLATFORMS[named].target) }),
  },
});
if (built.status !== 0) stop("cargo failed; its messages are above.");
mkdirSync(prebuilds, { recursive: true });
// Renamed into place: overwriting a library that a process has mapped would crash that process.
copyFileSync(join(folder, libraryName(platform)), `${output}.new`);
renameSync(`${output}.new`, output);
writeFileSync(stamp, wanted);
console.log(`native engine: built ${relative(root, output)} in ${Math.round((Date.now() - started) / 1000)} s`);
