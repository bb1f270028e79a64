import { readFile, writeFile } from "node:fs/promises";

/** A table in Markdown; `head` are its first two lines. */
export function table(head, rows) {
  return [...head, ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}

/** Writes text into a page, each between the comments that name it and the command that writes it. */
export async function writePlaces(page, command, places) {
  let text = await readFile(page, "utf8");
  for (const [name, content] of Object.entries(places)) {
    const [begin, end] = [`<!-- ${name}: ${command} -->\n`, `<!-- end of ${name} -->`];
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${page} has no place for ${name}`);
    text = `${text.slice(0, from)}${begin}${content}\n${text.slice(to)}`;
  }
  await writeFile(page, text);
}
