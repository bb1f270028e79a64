import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, titleOf } from "./pages.mjs";
import { SECTIONS } from "./sections.mjs";

/** Writes what programs read in place of pages: each page's Markdown beside its HTML, and `llms.txt` with the list of them (llmstxt.org). */
export function writeMarkdown(folder, pages) {
  for (const [file, page] of Object.entries(pages)) {
    const target = join(folder, page);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(ROOT + file));
  }
  const sections = SECTIONS.map(({ text, pages: names }) => {
    const lines = names.map((name) => `- [${titleOf(`docs/${name}.md`)}](/${name}.md): ${firstSentence(name)}`);
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  const head = "# quicrpc\n\n> Schema-first RPC for TypeScript on QUIC, in Node and in browsers.";
  writeFileSync(join(folder, "llms.txt"), `${[head, ...sections].join("\n\n")}\n`);
}

/** The first sentence of a page, as plain text. */
function firstSentence(name) {
  const paragraphs = readFileSync(`${ROOT}docs/${name}.md`, "utf8").split("\n\n").slice(1);
  const text = paragraphs.find((paragraph) => /^(\w|`[^`]|\[)/.test(paragraph)) ?? "";
  const plain = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("\n", " ");
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain;
}
