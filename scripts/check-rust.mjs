// Formatting, lints and unit tests of the native engine, where the tools for them are installed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./setup.mjs";

const cwd = join(root, "packages/quic/native");
const has = async (...args) => (await run(args, { command: "cargo", capture: true })).code === 0;

if (!existsSync(join(cwd, "Cargo.toml")) || !(await has("fmt", "--version")) || !(await has("clippy", "--version"))) {
  console.log("skipped: needs cargo with rustfmt and clippy (rustup component add rustfmt clippy)");
  process.exit(0);
}
const format = await run(["fmt", "--check"], { command: "cargo", cwd });
const lint = await run(["clippy", "--release", "--", "-D", "warnings"], { command: "cargo", cwd });
const test = await run(["test", "--quiet"], { command: "cargo", cwd });
process.exit(format.code || lint.code || test.code);
