import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { REPOSITORY, ROOT, sitePages } from "./pages.mjs";

/**
 * Links of a built site that lead nowhere, each as `page: link`: to a page that is not there, an anchor that its page does not have, a file that the
 * repository does not have, or no URL at all. Pages are there as HTML and as Markdown.
 */
export function brokenLinks(folder) {
  const pages = new Map();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".html"))
      pages.set(`/${name.replace(/(^|\/)index\.html$|\.html$/, "$1")}`, ofHtml(join(folder, name)));
    if (name.endsWith(".md") || name === "llms.txt") pages.set(`/${name}`, ofMarkdown(join(folder, name)));
  }
  const leads = (page, link) => {
    if (/^[a-z][\w+.-]*:/i.test(link)) return leadsOut(link, pages);
    const [path, anchor] = link.split("#");
    const target =
      path === "" ? page : posix.resolve(posix.dirname(page), path) + (path.endsWith("/") && path !== "/" ? "/" : "");
    const found = pages.get(target);
    if (found === undefined) return existsSync(join(folder, target));
    return hasAnchor(pages, target, anchor);
  };
  return Array.from(pages, ([page, { links }]) =>
    Array.from(links)
      .filter((link) => !leads(page, link))
      .map((link) => `${page}: ${link}`),
  ).flat();
}

function ofHtml(file) {
  const html = readFileSync(file, "utf8");
  return {
    anchors: new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id)),
    links: new Set(Array.from(html.matchAll(/<a [^>]*href="([^"]+)"/g), ([, link]) => link.replaceAll("&amp;", "&"))),
  };
}

/** Links of a page as Markdown. Its anchors are those of its HTML. */
function ofMarkdown(file) {
  return { links: new Set(linksOf(readFileSync(file, "utf8"))) };
}

/** What follows `](` outside code. */
const LINK = /(?<=\]\()[^)\s]+(?=\))/g;
const CODE = /^ *```[^]*?^ *```$|`[^`\n]+`/gm;

function linksOf(markdown) {
  return markdown.replaceAll(CODE, "").match(LINK) ?? [];
}

/** Writes other links into Markdown, outside code. */
export function replaceLinks(markdown, replace) {
  let from = 0;
  let text = "";
  for (const { 0: code, index } of [...markdown.matchAll(CODE), { 0: "", index: markdown.length }]) {
    text += markdown.slice(from, index).replaceAll(LINK, replace) + code;
    from = index + code.length;
  }
  return text;
}

/** Whether a link to elsewhere is a URL, and to a file of the repository that there is. */
function leadsOut(link, pages) {
  if (link.startsWith("mailto:")) return link.includes("@");
  if (!URL.canParse(link) || !/^https?:$/.test(new URL(link).protocol)) return false;
  if (!link.startsWith(`${REPOSITORY}/blob/main/`)) return true;
  const [path, anchor] = decodeURI(link.slice(`${REPOSITORY}/blob/main/`.length)).split("#");
  const page = sitePages()[path];
  return existsSync(ROOT + path) && (page === undefined || hasAnchor(pages, `/${page}`, anchor));
}

function hasAnchor(pages, page, anchor) {
  if (anchor === undefined || anchor === "") return true;
  const html = pages.get(page.replace(/(index)?\.md$/, ""));
  return html?.anchors.has(decodeURIComponent(anchor)) ?? false;
}
