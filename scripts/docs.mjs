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

/** A default as a person writes it: bytes in powers of two where they are, milliseconds in seconds. */
export function shown(name, value) {
  if (value === Infinity) return "no limit";
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") return `"${value}"`;
  const bytes = /bytes|window|watermark|buffer/i.test(name);
  if (bytes && value >= 1024 && value % 1024 === 0) {
    return value % 1_048_576 === 0 ? `${value / 1_048_576} MiB` : `${value / 1024} KiB`;
  }
  if (name.endsWith("Ms") && value >= 1000 && value % 1000 === 0) return `${(value / 1000).toLocaleString("en")} s`;
  if (name.endsWith("Ms")) return `${value.toLocaleString("en")} ms`;
  return value.toLocaleString("en");
}
