import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder, which is the site's source. */
export const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** Where the repository is shown: what a page links to beside pages is there. */
export const REPOSITORY = "https://github.com/quicrpc/quicrpc";

/** Every page of the site: its file in the repository, and its path on the site. */
export function sitePages() {
  const pages = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
  };
  for (const name of markdownIn("docs", true)) pages[`docs/${name}`] = name;
  for (const folder of ["packages", "examples"]) {
    for (const name of readdirSync(`${ROOT}${folder}`)) {
      const file = `${folder}/${name}/README.md`;
      if (existsSync(ROOT + file)) pages[file] = `${folder}/${name}.md`;
    }
  }
  for (const name of markdownIn("site/api", true))
    pages[`site/api/${name}`] = `api/${name === "README.md" ? "index.md" : name}`;
  return pages;
}

/** The first heading of a page. */
export function titleOf(file) {
  const title = /^# (.+)$/m.exec(readFileSync(ROOT + file, "utf8"))?.[1];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title.replaceAll("`", "").replaceAll("\\", "");
}

/** What a page says first, as plain text: a sentence, or some where the first is short. */
export function summaryOf(file) {
  const markdown = readFileSync(ROOT + file, "utf8").replaceAll(/^```[^]*?^```$|^<!--.*-->$/gm, "");
  const text = markdown.split(/\n{2,}/).find((paragraph) => /^(\w|`[^`]|\[|\*\*\w)/.test(paragraph)) ?? "";
  const plain = text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|`/g, "")
    .replaceAll("\n", " ");
  return /^.{50,}?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain.replace(/:$/, ".");
}

/** Where a page's link to another file of the repository leads on the site; undefined for a file that does not exist. */
export function siteLink(pages, from, link) {
  const [path = "", anchor] = link.split("#");
  const file = posix.normalize(posix.join(posix.dirname(from), decodeURI(path)));
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const page = pages[file] ?? pages[posix.join(file, "README.md")];
  if (page !== undefined) return `/${page}${suffix}`;
  return existsSync(ROOT + file) ? `${REPOSITORY}/blob/main/${file}${suffix}` : undefined;
}

function markdownIn(folder, recursive = false) {
  if (!existsSync(ROOT + folder)) return [];
  return readdirSync(ROOT + folder, { encoding: "utf8", recursive }).filter((name) => name.endsWith(".md"));
}
