// Calls between this version and an older one, in both directions and over every transport: the wire has not changed by accident.
// `node scripts/skew.mjs [commit]`. The older version is the last release, or, before there is one, the commit in
// test/skew/baseline.json. It is built once, in .cache/skew; its native engine needs cargo.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { fail, root, run, setup, step, tool } from "./setup.mjs";

const cache = join(root, ".cache/skew");
const peer = join(root, "test/skew/peer.mjs");
const CALL_MS = 120_000;

function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 }).trim();
}

function baseline() {
  const { commit } = JSON.parse(readFileSync(join(root, "test/skew/baseline.json"), "utf8"));
  const [released] = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname").split("\n");
  return git("rev-parse", `${process.argv[2] ?? (released || commit)}^{commit}`);
}

/** The packages of a commit, built; dependencies of others are those of this checkout. */
async function build(commit) {
  const folder = join(cache, commit);
  const done = join(folder, "built");
  if (existsSync(done)) return join(folder, "packages");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = join(cache, "archive.tar");
  git("archive", "--output", archive, commit, "package.json", "tsconfig.base.json", "packages");
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
  const scope = join(folder, "node_modules/@quicrpc");
  mkdirSync(scope, { recursive: true });
  for (const name of readdirSync(join(folder, "packages"))) {
    rmSync(join(folder, "packages", name, "test"), { recursive: true, force: true });
    symlinkSync(join(folder, "packages", name), join(scope, name), "junction");
    const nested = join(root, "packages", name, "node_modules");
    if (existsSync(nested)) symlinkSync(nested, join(folder, "packages", name, "node_modules"), "junction");
  }
  const advice = "The older version does not build.";
  await step("engine of the older version", ["packages/quic/scripts/build-native.mjs"], { cwd: folder, advice });
  const packages = ["packages/core", "packages/quic", "packages/node"];
  const tsc = tool.tsc.map((part) => join(root, part));
  await step("build of the older version", [...tsc, "-b", ...packages], { cwd: folder, advice });
  writeFileSync(done, "");
  return join(folder, "packages");
}

/** What calls of `client` gave at `server`. */
async function calls(client, server) {
  const serving = spawn(process.execPath, [peer, server, "serve"], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const said = once(createInterface({ input: serving.stdout }), "line");
    const ended = once(serving, "exit").then(() => fail("The server ended before it served."));
    const [address] = await Promise.race([said, ended]);
    const { code, output } = await run([peer, client, "call", address], { capture: true, env: { NO_COLOR: "1" } });
    if (code !== 0) fail("Calls failed.", output);
    return JSON.parse(output.slice(output.indexOf("{")));
  } finally {
    serving.removeAllListeners();
    serving.kill("SIGKILL");
  }
}

setTimeout(() => fail("Calls hang."), CALL_MS + 900_000).unref();
await setup();
const commit = baseline();
const older = await build(commit);
const newer = join(root, "packages");
const expected = await calls(newer, newer);
let differences = 0;
for (const [what, client, server] of [
  [`client of ${commit.slice(0, 7)}, server of today`, older, newer],
  [`client of today, server of ${commit.slice(0, 7)}`, newer, older],
]) {
  const found = await calls(client, server);
  for (const scheme of Object.keys(expected)) {
    for (const via of Object.keys(expected[scheme])) {
      for (const [call, wanted] of Object.entries(expected[scheme][via])) {
        const got = found[scheme]?.[via]?.[call];
        if (isDeepStrictEqual(got, wanted)) continue;
        differences += 1;
        console.error(`${what}, ${scheme}, ${via}, ${call}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
      }
    }
  }
  console.log(`${what}: ${Object.keys(found).join(" ")}`);
}
if (differences > 0) fail("The versions do not understand each other: docs/protocol.md says how the protocol changes.");
process.exit(0);
