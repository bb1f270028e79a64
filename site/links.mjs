import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** Links of a built site that lead nowhere, each as `page: link`: to a page that is not there, or an anchor that its page does not have. */
export function brokenLinks(folder) {
  const pages = new Map();
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".html")) continue;
    const html = readFileSync(join(folder, name), "utf8");
    const anchors = Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id);
    const links = Array.from(html.matchAll(/<a [^>]*href="([^"]+)"/g), ([, link]) => link.replaceAll("&amp;", "&"));
    pages.set(`/${name.replace(/(^|\/)index\.html$|\.html$/, "$1")}`, {
      anchors: new Set(anchors),
      links: new Set(links),
    });
  }
  const broken = [];
  for (const [page, { links }] of pages) {
    for (const link of links) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path, anchor] = link.split("#");
      const target =
        path === "" ? page : posix.resolve(posix.dirname(page), path) + (path.endsWith("/") && path !== "/" ? "/" : "");
      const found = pages.get(target);
      if (
        found === undefined
          ? existsSync(join(folder, target))
          : anchor === undefined || anchor === "" || found.anchors.has(decodeURIComponent(anchor))
      ) {
        continue;
      }
      broken.push(`${page}: ${link}`);
    }
  }
  return broken;
}
