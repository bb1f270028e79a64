// Checks formatting, lints and unit tests of the native engine, and the licences of its dependencies, if the tools are
// installed. Advisories need the network; CI checks them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeEngineSources } from "../packages/quic/scripts/engine-sources.mjs";
import { root, run } from "./setup.mjs";

const cwd = join(root, "packages/quic/native");
const has = async (...args) => (await run(args, { command: "cargo", capture: true })).code === 0;

if (!existsSync(join(cwd, "Cargo.toml")) || !(await has("fmt", "--version")) || !(await has("clippy", "--version"))) {
  console.log("skipped: needs cargo with rustfmt and clippy (rustup component add rustfmt clippy)");
  process.exit(0);
}
writeEngineSources();
const format = await run(["fmt", "--check"], { command: "cargo", cwd });
const lint = await run(["clippy", "--release", "--no-deps", "--", "-D", "warnings"], { command: "cargo", cwd });
const test = await run(["test", "--quiet"], { command: "cargo", cwd });
let licences = { code: 0 };
if (await has("deny", "--version")) {
  const deny = ["deny", "--offline", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
  licences = await run(deny, { command: "cargo", cwd });
} else console.log("licences skipped: needs cargo-deny (cargo install cargo-deny)");
process.exit(format.code || lint.code || test.code || licences.code);
