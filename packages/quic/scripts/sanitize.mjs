// Runs tests against an engine built with AddressSanitizer: reads and writes of memory that is freed or not its own end the
// process with a report. Needs Linux, a nightly Rust toolchain and gcc, whose runtime is loaded into Node before the engine.
// Usage: node scripts/sanitize.mjs [test files]
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeEngineSources } from "./engine-sources.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const crate = join(root, "native");
const built = join(crate, "target/asan");
/** A copy of the package, since the engine is found beside the code that loads it. */
const copy = join(built, "packages/quic");
const TARGET = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;
/** All that comes and goes: streams, sessions, sockets, workers, processes; both drivers. */
const TESTS = [
  "process",
  "streams",
  "datagrams",
  "sessions",
  "early-data",
  "migration",
  "hostile",
  "http",
  "web-transport",
];

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit", ...options });
  if (error !== undefined || status !== 0) {
    console.error(`${command} failed${error === undefined ? "" : `: ${error.message}`}`);
    process.exit(status || 1);
  }
}

writeEngineSources();
run("cargo", ["+nightly", "build", "--release", "--locked", "--target", TARGET], {
  cwd: crate,
  env: {
    ...process.env,
    RUSTFLAGS: "-Zsanitizer=address -Cforce-frame-pointers=yes",
    CARGO_TARGET_DIR: built,
    CARGO_PROFILE_RELEASE_LTO: "off",
    CARGO_PROFILE_RELEASE_STRIP: "none",
    CARGO_PROFILE_RELEASE_DEBUG: "1",
  },
});
rmSync(copy, { recursive: true, force: true });
cpSync(join(root, "../../scripts/free-port.mjs"), join(built, "scripts/free-port.mjs"));
mkdirSync(join(copy, "prebuilds"), { recursive: true });
for (const part of ["dist", "test", "package.json", "vitest.config.ts"]) {
  // The copy's tests are compiled by the options of the folders above it.
  cpSync(join(root, part), join(copy, part), { recursive: true, filter: (path) => !path.endsWith("tsconfig.json") });
}
cpSync(join(built, TARGET, "release/libquicrpc_quic.so"), join(copy, "prebuilds", `linux-${process.arch}-gnu.node`));
const runtime = spawnSync("gcc", ["-print-file-name=libasan.so"], { encoding: "utf8" }).stdout?.trim() ?? "";
const files = process.argv.length > 2 ? process.argv.slice(2) : TESTS.map((name) => `test/${name}`);
run("npx", ["vitest", "run", "--root", copy, "--testTimeout", "120000", ...files], {
  cwd: root,
  // Memory that Node never frees is no leak of the engine's; and tests measure memory, so little of what is freed is kept.
  env: { ...process.env, LD_PRELOAD: runtime, ASAN_OPTIONS: "detect_leaks=0:quarantine_size_mb=16" },
});
