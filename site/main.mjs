// npm run docs: serves the documentation as a site while its pages are edited.
// npm run docs:check: builds it into site/dist, and fails where a link or an anchor leads nowhere, or where a question of
// site/questions.mjs is not answered by what the site's search finds first.
import { fileURLToPath } from "node:url";
import { fail, run, setup } from "../scripts/setup.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
await setup({ engineOptional: true });
const { writeApi } = await import("./api.mjs");
await writeApi();
const vitepress = fileURLToPath(new URL("../../bin/vitepress.js", import.meta.resolve("vitepress")));
const serves = process.argv[2] === "serve";
const { code } = await run([vitepress, serves ? "dev" : "build", folder, ...process.argv.slice(3)]);
if (serves || code !== 0) process.exit(code);

const { writeMarkdown } = await import("./llms.mjs");
const { sitePages } = await import("./pages.mjs");
writeMarkdown(`${folder}dist`, sitePages());

const { brokenLinks } = await import("./links.mjs");
const { unanswered } = await import("./search.mjs");
const faults = [
  ...brokenLinks(`${folder}dist`).map((link) => `leads nowhere: ${link}`),
  ...(await unanswered(`${folder}dist`)),
];
if (faults.length > 0) fail(`${faults.length} faults in the site:`, faults.join("\n"));
console.log("the site is in site/dist; npx vitepress preview site serves it");
