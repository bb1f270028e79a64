// Part of npm run docs:check: files that comments and pages mention exist, commands that pages tell readers to run, with their options, and tests that hold
// what pages promise, in tables with a column "Held by": by their titles, in quotes, and their numbers.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandFaults } from "./commands.mjs";
import { fail, root } from "./setup.mjs";

const tracked = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString()
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(root, path)));
/** Every path, and every end of one: pages name files from where a reader stands. */
const ends = new Set(tracked.flatMap((path) => path.split("/").map((_, at, parts) => parts.slice(at).join("/"))));

/** Files of this repository by their endings; `.js` is what TypeScript becomes, and what users have. */
const FILE = /(?<![\w./@<-])(?:\.{1,2}\/)*([\w.-]+(?:\/[\w.-]+)*\.(?:ts|tsx|mts|mjs|rs|md|yml))(?![\w/*-])/g;
/** Files of a user's project. */
const THEIRS = /^(?:vite\.config|(?:greeter|chat|src\/auth)\.service|generated\/greeter|_shared(?:\.codecs)?)\.ts$|^\./;
const tests = tracked
  .filter((path) => /(^|\/)test\/.*\.ts$|\.test\.ts$/.test(path))
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");
const faults = [];
for (const path of tracked) {
  const page = path.endsWith(".md");
  if (
    !(
      page ? /^(docs\/[^/]+|[A-Z]+|packages\/[^/]+\/README|examples\/[^/]+\/README)\.md$/ : /\.(ts|tsx|mts|mjs|rs)$/
    ).test(path)
  )
    continue;
  // The changelog, and command help about files of users.
  if (path === "CHANGELOG.md" || path === "docs/cli.md" || /\/(generated|vendor)\//.test(path)) continue;
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  let promises = false;
  for (const [at, line] of lines.entries()) {
    promises = line.startsWith("|") && (promises || line.endsWith("| Held by |"));
    if (page && promises) {
      const heldBy = line.split("|").at(-2) ?? "";
      for (const [test, title] of heldBy.matchAll(/"([^"]+)"|\bC\d+\b/g))
        if (!tests.includes(title ?? `"${test} `)) faults.push(`${path}:${at + 1}: there is no test ${test}`);
    }
    const said = page ? line : (/(?:^|\s)(?:\/\/[/!]?|\/?\*\*?)\s(.*)$/.exec(line)?.[1] ?? "");
    if (page) faults.push(...commandFaults(line).map((fault) => `${path}:${at + 1}: ${fault}`));
    for (const [, name] of said.replaceAll(/\w+:\/\/\S+/g, "").matchAll(FILE)) {
      if (!ends.has(name) && !THEIRS.test(name)) faults.push(`${path}:${at + 1}: there is no ${name}`);
    }
  }
}
if (faults.length > 0) fail(faults.join("\n"));
