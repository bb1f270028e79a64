// npm run check:mentions: files that comments and pages mention exist, commands that pages tell readers to run, with their options, and tests that hold
// what pages promise, in tables with a column "Held by": by their titles, in quotes, and their numbers. Doc comments of packages have their own subject, and
// say what happens in the words of the trade.
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
const THEIRS = /^(?:vite\.config|(?:greeter|chat)\.service|generated\/greeter|_shared(?:\.codecs)?)\.ts$|^\./;
/** Sources of packages, whose comments are read beside their code alone. */
const SOURCE = /^packages\/(?:[^/]+\/src|quic\/native\/src)\//;
/** A doc comment's first line that leaves the noun to the identifier below. */
const WITHOUT_SUBJECT = /^\s*(?:\/\*\*|\/\/[/!]|\*) (What|Of)\b/;
/** A line of one of Rust. */
const RUST_DOC = /^\s*\/\/[/!]/;
/** Phrases of this house, and what everybody says. */
const PHRASES = [
  [/\bhea(?:rs?|rd) of\b/i, "receives"],
  [/\blets? go of\b/i, "releases"],
  [/\bg(?:ive|ives|ave|iving|iven) (?:(?:it|them|itself|the \w+|an? \w+|calls) )?up\b/i, "aborts, cancels or closes"],
  [/\blooks? after\b/i, "handles"],
  [/\bby (?:its|their|his) own books\b/i, "by its own counters"],
];
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
  // The list of changes, and what commands say of files of their users.
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
    if (SOURCE.test(path)) {
      const before = lines[at - 1] ?? "";
      const isFirst =
        before.trim() === "/**" || /^\s*\/\*\*/.test(line) || (RUST_DOC.test(line) && !RUST_DOC.test(before));
      const [, word] = (isFirst && WITHOUT_SUBJECT.exec(line)) || [];
      if (word !== undefined) faults.push(`${path}:${at + 1}: a doc comment begins with "${word}": name its subject`);
      for (const [phrase, usual] of PHRASES) {
        const [found] = phrase.exec(said) ?? [];
        if (found !== undefined) faults.push(`${path}:${at + 1}: write "${usual}" for "${found}"`);
      }
    }
    if (page) faults.push(...commandFaults(line).map((fault) => `${path}:${at + 1}: ${fault}`));
    for (const [, name] of said.replaceAll(/\w+:\/\/\S+/g, "").matchAll(FILE)) {
      if (!ends.has(name) && !THEIRS.test(name)) faults.push(`${path}:${at + 1}: there is no ${name}`);
    }
  }
}
if (faults.length > 0) fail(faults.join("\n"));
