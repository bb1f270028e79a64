// npm run pictures: draws docs/pictures/*.mmd as SVG, by Mermaid in a Chromium of this machine; npm keeps Mermaid in .cache.
// npm run pictures:check fails where a picture is not that of its text.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, npm, root, run } from "../scripts/setup.mjs";

const MERMAID = "mermaid@12.3.0";
const FOLDER = join(root, "docs/pictures");
const CHROMIUM = [
  process.env.QUICRPC_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Each picture: its text, what it shows in words, and the mark by which its SVG names the text that it was drawn from. */
const pictures = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".mmd"))
  .map((name) => {
    const source = readFileSync(join(FOLDER, name), "utf8");
    const [, alt, text] = /^---\nalt: (.+)\n---\n([^]+)$/.exec(source) ?? fail(`${name} begins with no "alt:"`);
    const mark = `<!-- of ${name}, ${createHash("sha256").update(source).digest("hex").slice(0, 16)} -->`;
    return { alt, text, mark, svg: join(FOLDER, name.replace(/mmd$/, "svg")) };
  });
const stale = pictures.filter(({ svg, mark }) => !existsSync(svg) || !readFileSync(svg, "utf8").includes(mark));

if (process.argv.includes("--check")) {
  if (stale.length > 0) fail(`npm run pictures draws anew: ${stale.map(({ svg }) => svg).join(", ")}`);
} else if (stale.length > 0) {
  await draw(stale);
}

async function draw(some) {
  const executablePath = CHROMIUM.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) fail("pictures are drawn in Chromium: install it, or set QUICRPC_CHROMIUM");
  const cache = join(root, ".cache/mermaid");
  const { args, ...how } = npm(["install", "--no-save", "--ignore-scripts", "--no-audit", "--prefix", cache, MERMAID]);
  const { code, output } = await run(args, { ...how, capture: true });
  if (code !== 0) fail(`npm could not install ${MERMAID}`, output);
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.setContent("<!doctype html><body></body>");
    await page.addScriptTag({ path: join(cache, "node_modules/mermaid/dist/mermaid.min.js") });
    for (const { alt, text, mark, svg } of some) {
      const drawn = await page.evaluate(svgOf, text);
      writeFileSync(svg, `${framed(drawn, alt)}\n${mark}\n`);
      console.log(svg);
    }
  } finally {
    await browser.close();
  }
}

/** Runs in the page. */
async function svgOf(text) {
  const { mermaid } = globalThis;
  mermaid.initialize({
    startOnLoad: false,
    theme: "neutral",
    htmlLabels: false,
    flowchart: { htmlLabels: false, useMaxWidth: false, wrappingWidth: 900 },
    sequence: { useMaxWidth: false },
    gantt: { useWidth: 800, useMaxWidth: false },
    state: { useMaxWidth: false },
    deterministicIds: true,
    deterministicIDSeed: "quicrpc",
  });
  return (await mermaid.render("picture", text)).svg;
}

/** A picture on paper of its own, so that it can be read on a dark page; with its words for those who do not see it. */
function framed(svg, alt) {
  const [, x, y, width, height] = /viewBox="(\S+) (\S+) (\S+) (\S+)"/.exec(svg).map(Number);
  const paper = `<title>${alt}</title><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="#fff"/>`;
  return svg.replace(/^<svg[^>]*>/, (tag) => tag + paper).replaceAll(/>\s*<(?=\/?g\b)/g, ">\n<");
}
