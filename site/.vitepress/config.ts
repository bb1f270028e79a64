import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { slug } from "github-slugger";
import { type DefaultTheme, defineConfig, type MarkdownEnv, type MarkdownRenderer } from "vitepress";
import { REPOSITORY, ROOT, siteLink, sitePages, summaryOf, titleOf } from "../pages.mjs";
import { SEARCH } from "../search.mjs";
import { SECTIONS } from "../sections.mjs";

const pages = sitePages();
checkSections();

/** Drawings up to this width are scaled to a phone's. Wider ones keep their size there, and one moves over them: their words would be too small. */
const FITS_A_PHONE = 480;
const STYLE = `
:root { --vp-code-lang-color: var(--vp-c-text-2) }
.vp-doc thead:not(:has(th:not(:empty))) { display: none }
.vp-doc img.on-dark, .dark .vp-doc img.on-light { display: none }
.dark .vp-doc img.on-dark { display: block }
@media (max-width: 639px) {
  .vp-doc th, .vp-doc td { padding: 6px 8px; font-size: 13px; line-height: 20px }
  .vp-doc p:has(> img.wide) { overflow-x: auto }
  .vp-doc p > img.wide { max-width: none }
}`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3451b2"/><path d="M18 4 8 18h7l-1 10 10-14h-7z" fill="#fff"/></svg>`;

export default defineConfig({
  title: "quicrpc",
  description: "Schema-first RPC for TypeScript on QUIC, in Node and in browsers.",
  lang: "en",
  head: [
    ["style", {}, STYLE],
    ["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }],
  ],
  srcDir: ROOT,
  outDir: `${ROOT}site/dist`,
  cacheDir: `${ROOT}site/.cache`,
  srcExclude: [
    "{packages,examples,docs}/*/*/**",
    "**/node_modules/**",
    "{.*,bench,interop,test}/**",
    "packages/*/!(README).md",
  ],
  rewrites: (file) => pages[file] ?? file,
  cleanUrls: true,
  metaChunk: true,
  // The index of the search is larger, and is loaded by those who search.
  vite: { build: { chunkSizeWarningLimit: 3000 } },
  transformPageData: ({ relativePath }) => {
    if (relativePath.startsWith("api/") || relativePath === "index.md") return {};
    const description = summaryOf(fileOf(relativePath));
    return description === "" ? {} : { description };
  },
  markdown: {
    // Each colour of these can be read on the ground of code.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: (text) => slug(text) },
    config: (markdown) => {
      // Pages that people write have no HTML but the comments between which a script writes.
      markdown.core.ruler.before("normalize", "comments", (state) => {
        state.md.options.html = state.env.relativePath.startsWith("api/");
        state.src = state.src.replaceAll(/^<!--.*-->$/gm, "");
      });
      // Indented code looks as fenced code does, and is moved over where a line is wider than the page.
      markdown.core.ruler.push("indented code", ({ tokens }) => {
        for (const token of tokens) if (token.type === "code_block") token.type = "fence";
      });
      // A picture `x-dark.png` takes the place of `x.png` on a dark page. Where the repository is shown the latter is on both.
      markdown.core.ruler.push("dark pictures", ({ tokens, env }) => {
        const folder = `${ROOT}${dirname(fileOf(env.relativePath))}/`;
        for (const token of tokens) {
          token.children =
            token.children?.flatMap((image) => {
              const dark = image.attrGet("src")?.replace(/\.png$/, "-dark.png");
              if (image.type !== "image" || !dark?.endsWith("-dark.png") || !existsSync(folder + dark)) return [image];
              const other = Object.assign(Object.create(Object.getPrototypeOf(image)), image, {
                attrs: structuredClone(image.attrs),
              });
              // Browsers load no lazy picture that is not shown.
              for (const { attrs } of [image, other]) attrs?.push(["loading", "lazy"]);
              image.attrJoin("class", "on-light");
              other.attrJoin("class", "on-dark");
              other.attrSet("src", dark);
              return [image, other];
            }) ?? null;
        }
      });
      // Pages link to files, as they do where the repository is shown; the site has them at other paths.
      markdown.core.ruler.push("links to files", ({ tokens, env }) => {
        const from = fileOf(env.relativePath);
        const inline = tokens.flatMap(({ children }, at) => (children ?? []).map((token) => ({ token, at })));
        for (const { token, at } of inline) {
          const name = token.type === "link_open" ? "href" : "src";
          const link = token.attrGet(name);
          if (link === null || token.type === "link_close" || /^(?:[a-z]+:|#|\/)/.test(link)) continue;
          if (token.type === "image" && widthOf(`${ROOT}${dirname(from)}/${link}`) > FITS_A_PHONE) {
            token.attrJoin("class", "wide");
            // One moves over it by keys, too.
            tokens[at - 1]?.attrSet("tabindex", "0");
          }
          const target = token.type === "image" ? undefined : siteLink(pages, from, link);
          if (target !== undefined) token.attrSet(name, target);
        }
      });
    },
  },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start" },
      { text: "Guides", link: "/calls" },
      { text: "API", link: "/api/" },
      { text: "Changes", link: "/changelog" },
    ],
    sidebar: [
      // Sections that fold lead to a page: without a link their names would be buttons with another button inside.
      ...SECTIONS.map(({ text, pages: names }) => ({
        text,
        ...(text === "Inside" ? { link: `/${names[0]}`, collapsed: true } : {}),
        items: names.map((name) => ({ text: titleOf(`docs/${name}.md`), link: `/${name}` })),
      })),
      { text: "Packages", link: "/packages/core", collapsed: true, items: itemsUnder("packages/") },
      { text: "Examples", link: "/examples/whiteboard", collapsed: true, items: itemsUnder("examples/") },
      { text: "API", link: "/api/", collapsed: true, items: itemsUnder("api/") },
    ],
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: { searchOptions: SEARCH },
        _render: searched,
      },
    },
    socialLinks: [{ icon: "github", link: REPOSITORY }],
  },
});

/** What the search reads of a page. What a package exports is a section of it, and members are part of its text. */
function searched(source: string, env: MarkdownEnv, markdown: MarkdownRenderer): string {
  const relativePath = pages[env.relativePath] ?? env.relativePath;
  const html = markdown.render(source, Object.assign(env, { relativePath }));
  return relativePath.startsWith("api/") ? html.replaceAll(/<h[4-6][^>]*>([^]*?)<\/h[4-6]>/g, "<p>$1</p>") : html;
}

/** The width of a drawing; 0 for other pictures. */
function widthOf(file: string): number {
  const width = file.endsWith(".svg") ? / width="([\d.]+)"/.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return Number(width ?? 0);
}

function itemsUnder(folder: string): DefaultTheme.SidebarItem[] {
  return Object.entries(pages)
    .filter(([, page]) => page.startsWith(folder))
    .map(([file, page]) => ({ text: titleOf(file), link: `/${page.replace(/(index)?\.md$/, "")}` }));
}

/** The file of a page, by its path on the site. */
function fileOf(page: string): string {
  return Object.keys(pages).find((file) => pages[file] === page) ?? page;
}

/** Throws where a page of `docs/` is in no section. */
function checkSections(): void {
  const listed = new Set(SECTIONS.flatMap(({ pages: names }) => names));
  const missing = Object.keys(pages)
    .map((file) => /^docs\/(.+)\.md$/.exec(file)?.[1])
    .filter((name) => name !== undefined && !listed.has(name));
  if (missing.length > 0) throw new Error(`site/sections.mjs has no place for ${missing.join(", ")}`);
}
