// npm run snippets: writes the code of pages from the files that tests compile and run. A fence names its file, and the region of it:
// ```ts file=examples/guides/src/lists.ts#pages
// With "imports" after that, what the region uses of packages and of generated code is imported above it:
// ```ts file=examples/guides/src/serving.ts#serve imports
// npm run docs:check fails where a page says something else, has TypeScript or JavaScript that is no file's, or JSON that cannot be read.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root } from "./setup.mjs";

const FENCE = /^( *)```(\w+) file=([^\s#]+)(?:#(\S+))?( imports)?\n([^]*?)^ *```$/gm;
/** Code of a page that is in no file. */
const LOOSE = /^ *```(?:[tj]sx?|mjs|html|vue|svelte)(?!\w)(?! file=)/;
/** Pages whose code has to be of files. */
const HELD = /^(?:docs\/[^/]+|README|packages\/[^/]+\/README)\.md$/;
/** Fences that are no file's, and why: by the page, and the first line of their code. */
const EXCEPTIONS = {
  "docs/from-trpc.md": { "// tRPC": "another library's code, to compare with" },
};
const IMPORT = /^import (?:type )?(?:\{([^}]*)\}|(\w+)|\* as (\w+))(?:, \{([^}]*)\})? from "([^"]+)";\n/gm;
const LINE_WIDTH = 120;

/** The lines of a file, or of one region of it, without the marks of regions and what they are indented by. */
function code(file, region) {
  let lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n");
  if (region !== undefined) {
    lines = regionOf(lines, region) ?? functionOf(lines, region) ?? fail(`${file} has no region ${region}`);
  }
  lines = lines.filter((line) => !/^\s*\/\/ #(end)?region /.test(line));
  const indents = lines.filter((line) => line !== "").map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent));
}

function regionOf(lines, region) {
  const from = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const to = lines.findIndex((line, at) => at > from && line.trim() === `// #endregion ${region}`);
  return from < 0 || to < 0 ? undefined : lines.slice(from + 1, to);
}

/** A function by its name: generated code has no marks. */
function functionOf(lines, name) {
  const from = lines.findIndex((line) => line.startsWith(`function ${name}(`));
  const to = lines.indexOf("}", from);
  return from < 0 || to < 0 ? undefined : lines.slice(from, to + 1);
}

/** The imports of a file that some lines of it need, each of no more than these need, and an empty line. */
function imports(file, lines) {
  const text = lines.join("\n");
  const used = (name) => new RegExp(`(?<![\\w$.])${name}(?![\\w$])`).test(text);
  const found = [];
  for (const match of readFileSync(join(root, file), "utf8").matchAll(IMPORT)) {
    const [all, first, byDefault, asAll, second, module] = match;
    if (module.startsWith(".") && !module.startsWith("./generated/")) continue;
    const names = `${first ?? ""},${second ?? ""}`.split(",").map((name) => name.trim());
    const needed = names.filter((name) => name !== "" && used(/\w+$/.exec(name)[0]));
    const ahead = [byDefault, asAll && `* as ${asAll}`].filter(
      (name) => name !== undefined && used(/\w+$/.exec(name)[0]),
    );
    if (needed.length + ahead.length === 0) continue;
    const kind = all.startsWith("import type ") ? "type " : "";
    const put = (braced) => `import ${kind}${[...ahead, ...braced].join(", ")} from "${module}";`;
    const line = put(needed.length === 0 ? [] : [`{ ${needed.join(", ")} }`]);
    found.push(...(line.length <= LINE_WIDTH ? [line] : put([`{\n  ${needed.join(",\n  ")},\n}`]).split("\n")));
  }
  return found.length === 0 ? lines : [...found, "", ...lines];
}

/** Where a page has code that is no file's. */
function looseFences(page, text) {
  let inside = false;
  return text.split("\n").flatMap((line, at, lines) => {
    if (!/^ *```/.test(line)) return [];
    inside = !inside;
    if (!inside || !LOOSE.test(line) || EXCEPTIONS[page]?.[lines[at + 1].trim()] !== undefined) return [];
    return [`${page}:${at + 1} has code of no file: make it a region of one that a test runs`];
  });
}

/** Where a page has JSON that is none. */
function brokenJson(page, text) {
  return Array.from(text.matchAll(/^( *)```json\n([^]*?)^\1```$/gm)).flatMap(({ 2: json, index }) => {
    try {
      JSON.parse(json);
      return [];
    } catch (error) {
      return [`${page}:${text.slice(0, index).split("\n").length} has JSON that cannot be read: ${error.message}`];
    }
  });
}

const stale = [];
const loose = [];
const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard", "*.md"], { cwd: root });
for (const page of listed.toString().split("\0")) {
  if (page === "" || !existsSync(join(root, page))) continue;
  const text = readFileSync(join(root, page), "utf8");
  if (HELD.test(page)) loose.push(...looseFences(page, text), ...brokenJson(page, text));
  const written = text.replaceAll(FENCE, (_, indent, language, file, region, withImports = "") => {
    const name = region === undefined ? file : `${file}#${region}`;
    const own = code(file, region);
    const lines = withImports === "" ? own : imports(file, own);
    const indented = lines.map((line) => (line === "" ? "" : indent + line));
    return `${indent}\`\`\`${language} file=${name}${withImports}\n${indented.join("\n")}\n${indent}\`\`\``;
  });
  if (written === text) continue;
  stale.push(page);
  if (!process.argv.includes("--check")) writeFileSync(join(root, page), written);
}
if (!process.argv.includes("--check")) process.exit(0);
const faults = [...loose];
if (stale.length > 0)
  faults.unshift(`the code in ${stale.join(", ")} is not that of its files: npm run snippets writes it`);
if (faults.length > 0) fail(faults.join("\n"));
