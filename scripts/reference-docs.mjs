// npm run reference:docs: writes docs/options.md and docs/error-codes.md from the code, and the table of options between such comments in any page:
//   <!-- options of createOutbox: npm run reference:docs -->
//   <!-- end of options -->
// npm run docs:check fails where they say something else, where an option has no comment that says enough or one whose default is not the code's, and where an
// error code is not declared.
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { errorsPage } from "./reference-errors.mjs";
import { defaultFaults, optionsPage, optionsTable } from "./reference-options.mjs";

const PLACE = /(<!-- options of ([^:\n]+): npm run reference:docs -->\n).*?(<!-- end of options -->)/gs;
const checks = process.argv.includes("--check");
const pages = new Map([
  ["docs/options.md", optionsPage()],
  ["docs/error-codes.md", errorsPage()],
]);
const faults = Array.from(pages.values(), (page) => page.faults).flat();

async function put(page, text, before) {
  if (before === text) return;
  if (checks) faults.push(`${page} is not what the code says: npm run reference:docs writes it`);
  else await writeFile(page, text);
}

for (const [page, { text }] of pages) await put(page, text, await readFile(page, "utf8").catch(() => ""));

const names = [
  ...readdirSync("docs").map((name) => `docs/${name}`),
  ...readdirSync("packages").map((name) => `packages/${name}/README.md`),
].filter((name) => name.endsWith(".md") && !pages.has(name));
for (const page of names) {
  const before = await readFile(page, "utf8").catch(() => "");
  const text = before.replaceAll(PLACE, (_, begin, title, end) => {
    const rows = optionsTable(title);
    return `${begin}\n${page.startsWith("docs/") ? rows : rows.replaceAll(/\]\((?=[\w-]+\.md)/g, "](../../docs/")}\n\n${end}`;
  });
  await put(page, text, before);
}
faults.push(...defaultFaults());
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
