// npm run snippets: writes the code of pages from the files that tests compile and run. A fence names its file and region:
// ```ts file=examples/guides/src/lists.ts#pages
// npm run snippets:check fails where a page says something else.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root } from "./setup.mjs";

const FENCE = /^( *)```(\w+) file=([^\s#]+)(?:#(\S+))?\n([^]*?)^ *```$/gm;

/** The lines of a file, or of one region of it, without the marks of regions and what they are indented by. */
function code(file, region) {
  let lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n");
  if (region !== undefined) {
    const from = lines.findIndex((line) => line.trim() === `// #region ${region}`);
    const to = lines.findIndex((line, at) => at > from && line.trim() === `// #endregion ${region}`);
    if (from < 0 || to < 0) throw new Error(`${file} has no region ${region}`);
    lines = lines.slice(from + 1, to);
  }
  lines = lines.filter((line) => !/^\s*\/\/ #(end)?region /.test(line));
  const indents = lines.filter((line) => line !== "").map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent));
}

const stale = [];
const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard", "*.md"], { cwd: root });
for (const page of listed.toString().split("\0")) {
  if (page === "" || page.includes("/vendor/") || !existsSync(join(root, page))) continue;
  const text = readFileSync(join(root, page), "utf8");
  const written = text.replaceAll(FENCE, (_, indent, language, file, region) => {
    const name = region === undefined ? file : `${file}#${region}`;
    const lines = code(file, region).map((line) => (line === "" ? "" : indent + line));
    return `${indent}\`\`\`${language} file=${name}\n${lines.join("\n")}\n${indent}\`\`\``;
  });
  if (written === text) continue;
  stale.push(page);
  if (!process.argv.includes("--check")) writeFileSync(join(root, page), written);
}
if (process.argv.includes("--check") && stale.length > 0) {
  fail(`the code in ${stale.join(", ")} is not that of its files: npm run snippets writes it`);
}
