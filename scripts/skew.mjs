// Calls between this version and an older one, in both directions and over every transport: the wire has not changed by accident.
// `node scripts/skew.mjs [commit]`. The older version is the last release; before there is one, each commit in
// test/skew/baseline.json. It is built once; its native engine needs cargo.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { commitOf, git, olderVersion } from "./older-version.mjs";
import { fail, root, run, setup } from "./setup.mjs";

const peer = join(root, "test/skew/peer.mjs");
const CALL_MS = 120_000;

function baselines() {
  const { commits } = JSON.parse(readFileSync(join(root, "test/skew/baseline.json"), "utf8"));
  const [released] = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname").split("\n");
  const one = process.argv[2] ?? released;
  return (one ? [one] : commits).map(commitOf);
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
  const older = join(await olderVersion(commit), "packages");
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
