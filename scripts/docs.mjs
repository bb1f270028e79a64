import { readFile, writeFile } from "node:fs/promises";

/** A table in Markdown; `head` are its first two lines. */
export function table(head, rows) {
  return [...head, ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}

/** Words of a cell that is read at a glance, and of one that is left whole. */
const GLANCE = 30;
const WHOLE = 42;

const wordsIn = (text) => text.split(/\s+/).length;

/** A table whose last cells are comments. A long one begins in the table, with as many sentences as are read at a glance, and goes on in a list below it. */
export function reference(head, rows) {
  const notes = [];
  const short = rows.map((cells) => {
    const comment = cells.at(-1);
    if (wordsIn(comment) <= WHOLE) return cells;
    const [first, ...sentences] = comment.split(/(?<=[.!?]) (?=[A-Z`"])/);
    let kept = first;
    while (sentences.length > 0 && wordsIn(`${kept} ${sentences[0]}`) <= GLANCE) kept += ` ${sentences.shift()}`;
    if (sentences.length > 0) notes.push(`- ${cells[0]}: ${sentences.join(" ").replaceAll("\\|", "|")}`);
    return [...cells.slice(0, -1), kept];
  });
  return [table(head, short), ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n");
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
