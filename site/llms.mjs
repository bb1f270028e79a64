import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceLinks } from "./links.mjs";
import { ROOT, siteLink, summaryOf, titleOf } from "./pages.mjs";
import { SECTIONS } from "./sections.mjs";

/** Writes what programs read in place of pages: each page's Markdown beside its HTML, with links to the others, and `llms.txt` with the list of them (llmstxt.org). */
export function writeMarkdown(folder, pages) {
  for (const [file, page] of Object.entries(pages)) {
    const target = join(folder, page);
    mkdirSync(dirname(target), { recursive: true });
    const markdown = readFileSync(ROOT + file, "utf8");
    writeFileSync(
      target,
      replaceLinks(markdown, (link) => (/^[a-z]+:|^#/.test(link) ? link : (siteLink(pages, file, link) ?? link))),
    );
  }
  const sections = SECTIONS.map(({ text, pages: names }) => {
    const lines = names.map(
      (name) => `- [${titleOf(`docs/${name}.md`)}](/${name}.md): ${summaryOf(`docs/${name}.md`)}`,
    );
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  const head = "# quicrpc\n\n> Schema-first RPC for TypeScript on QUIC, in Node and in browsers.";
  writeFileSync(join(folder, "llms.txt"), `${[head, ...sections].join("\n\n")}\n`);
}
