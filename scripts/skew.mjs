// Calls between this version and an older one, in both directions and over every transport: the wire has not changed by accident.
// `node scripts/skew.mjs [commit]`. The older version is the last release; before there is one, each commit in
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

function baselines() {
  const { commits } = JSON.parse(readFileSync(join(root, "test/skew/baseline.json"), "utf8"));
  const [released] = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname").split("\n");
  const one = process.argv[2] ?? released;
  return (one ? [one] : commits).map((commit) => git("rev-parse", `${commit}^{commit}`));
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
  const known = ["core", "quic", "http", "node"].map((name) => `packages/${name}`);
  const packages = known.filter((name) => existsSync(join(folder, name)));
  const tsc = tool.tsc.map((part) => join(root, part));
  await step("build of the older version", [...tsc, "-b", ...packages], { cwd: folder, advice });
  writeFileSync(done, "");
  return join(folder, "packages");
}

/** Results of calls of `client` at `server`. */
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
const newer = join(root, "packages");
const expected = await calls(newer, newer);
let differences = 0;
for (const commit of baselines()) await compare(commit);
if (differences > 0) fail("The versions do not understand each other: docs/protocol.md says how the protocol changes.");
process.exit(0);

/** Calls in both directions between a commit and this checkout. */
async function compare(commit) {
  const older = await build(commit);
  const short = commit.slice(0, 7);
  const schemes = Object.keys(expected).filter((scheme) => scheme !== "http:" || existsSync(join(older, "http")));
  for (const [what, client, server] of [
    [`client of ${short}, server of today`, older, newer],
    [`client of today, server of ${short}`, newer, older],
  ]) {
    const found = await calls(client, server);
    for (const scheme of schemes) countDifferences(`${what}, ${scheme}`, expected[scheme], found[scheme]);
    console.log(`${what}: ${schemes.join(" ")}`);
  }
}

function countDifferences(what, expected, found) {
  for (const via of Object.keys(expected)) {
    for (const [call, wanted] of Object.entries(expected[via])) {
      const got = found?.[via]?.[call];
      if (isDeepStrictEqual(got, wanted)) continue;
      differences += 1;
      console.error(`${what}, ${via}, ${call}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
    }
  }
}
