// node scripts/figures.mjs: writes the figures in pages from the stored results of the last full bench,
// docs/benchmarks/results.json. npm run check:release fails if a page is out of date: docs/benchmarks.md and its
// pictures, README.md, docs/performance.md.
import { readFile, writeFile } from "node:fs/promises";
import { documentOf } from "../bench/dist/report/document.js";
import { withNumbers } from "../bench/dist/report/readme.js";

const results = JSON.parse(await readFile("docs/benchmarks/results.json", "utf8"));
const document = documentOf(results).map(({ path, text }) => [`docs/${path}`, text]);
const [, report] = document.find(([path]) => path === "docs/benchmarks.md");

/** The goals that the run missed, as the report has them. */
const missed = report.split("\n").filter((line) => /^\|.*\*\*missed by [\d.]+%\*\* \|$/.test(line));
const PLACE = /(<!-- goals that the last full run missed: node scripts\/figures.mjs -->\n).*?(<!-- end of goals -->)/s;
const performance = await readFile("docs/performance.md", "utf8");
if (!PLACE.test(performance)) throw new Error("docs/performance.md has no place for the goals");
const table = ["| | goal | measured | |", "|---|---|---|---|", ...missed].join("\n");

const pages = [
  ...document,
  ["README.md", withNumbers(await readFile("README.md", "utf8"), results)],
  ["docs/performance.md", performance.replace(PLACE, (_, begin, end) => `${begin}\n${table}\n\n${end}`)],
];
let stale = 0;
for (const [page, text] of pages) {
  if ((await readFile(page, "utf8").catch(() => "")) === text) continue;
  if (!process.argv.includes("--check")) {
    await writeFile(page, text);
    continue;
  }
  stale += 1;
  console.error(`${page} is not what docs/benchmarks/results.json says: node scripts/figures.mjs writes it`);
}
process.exit(stale === 0 ? 0 : 1);
