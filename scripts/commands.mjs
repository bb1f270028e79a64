// Commands that pages tell readers to run: that `quicrpc` has them, with these options, and that this repository has the scripts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");
const scriptsOf = (manifest) => JSON.parse(read(manifest)).scripts ?? {};

/** The help of each command: docs/cli.md is held to what the command says. */
const HELP = Object.fromEntries(
  read("docs/cli.md")
    .split(/^## quicrpc /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf("\n")), section]),
);
const SCRIPTS = scriptsOf("package.json");
const OF_TEMPLATES = new Set(
  readdirSync(join(root, "packages/cli/templates"), { recursive: true })
    .filter((path) => path.endsWith("package.json"))
    .flatMap((path) => Object.keys(scriptsOf(join("packages/cli/templates", path)))),
);
const BENCH = readdirSync(join(root, "bench/src"))
  .filter((name) => name.endsWith(".ts"))
  .map((name) => read(`bench/src/${name}`))
  .join();

/** A command in a line: after a backtick or `npx`, or at the start of a line of shell. */
const QUICRPC = /(?:`|npx |^)quicrpc ([a-z][\w-]*)([^`#|]*)/g;
const NPM = /npm (?:run (?=[\w])|(?=start|test))([\w:-]+)((?: -[^`#|]*)?)/g;
const OPTION = /(?<=\s)(--?[a-zA-Z][\w-]*)/g;

/** What is wrong with the commands of one line of a page. */
export function commandFaults(line) {
  const faults = [];
  for (const [, name, rest] of line.matchAll(QUICRPC)) {
    const help = HELP[name];
    if (help === undefined) faults.push(`there is no command quicrpc ${name}`);
    else faults.push(...missing(rest, help, `quicrpc ${name}`));
  }
  for (const [, name, rest] of line.matchAll(NPM)) {
    const [, workspace] = / -w @quicrpc\/(\S+)/.exec(rest) ?? [];
    const folder = workspace === undefined ? "." : `packages/${workspace}`;
    const script = (folder === "." ? SCRIPTS : scriptsOf(`${folder}/package.json`))[name];
    if (script === undefined) {
      if (folder !== "." || !OF_TEMPLATES.has(name)) faults.push(`there is no npm run ${name}`);
      continue;
    }
    const [, own = ""] = / -- (.*)/.exec(rest) ?? [];
    faults.push(...missing(` ${own}`, textOf(folder, script), `npm run ${name}`));
  }
  return faults;
}

function missing(words, help, command) {
  return Array.from(words.matchAll(OPTION), ([option]) => option)
    .filter((option) => option !== "--help" && !new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(help))
    .map((option) => `${command} has no ${option}`);
}

/** The text of the files that a script runs, in which its options have to be. */
function textOf(folder, script) {
  const files = script.match(/\b(?:scripts|site)\/[\w-]+\.mjs/g) ?? [];
  return [...files.map((file) => read(join(folder, file))), ...(/bench/.test(script) ? [BENCH] : [])].join();
}
