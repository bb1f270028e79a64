// npm run pictures: draws docs/pictures/*.mmd as SVG, by Mermaid in a Chromium of this machine; npm keeps Mermaid in .cache.
// Pictures whose text has not changed stay as they are.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DARK, FONT, LIGHT, paper, style } from "./drawing.mjs";
import { fail, npm, root, run } from "../scripts/setup.mjs";

const MERMAID = "mermaid@12.3.0";
const FOLDER = join(root, "docs/pictures");
const CHROMIUM = [
  process.env.QUICRPC_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

const SETTINGS = { light: settings(LIGHT), dark: settings(DARK), mermaid: MERMAID };

/** Each picture: its text, what it shows in words, and the mark by which its SVG names the text and the settings that it was drawn from. */
const pictures = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".mmd"))
  .map((name) => {
    const source = readFileSync(join(FOLDER, name), "utf8");
    const [, alt, text] = /^---\nalt: (.+)\n---\n([^]+)$/.exec(source) ?? fail(`${name} begins with no "alt:"`);
    const hash = createHash("sha256").update(source).update(JSON.stringify(SETTINGS)).digest("hex");
    const mark = `<!-- of ${name}, ${hash.slice(0, 16)} -->`;
    return { alt, text, mark, svg: join(FOLDER, name.replace(/mmd$/, "svg")) };
  });
const stale = pictures.filter(({ svg, mark }) => !existsSync(svg) || !readFileSync(svg, "utf8").includes(mark));

if (stale.length > 0) await draw(stale);

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
      const [light, dark] = [
        await page.evaluate(svgOf, { text, settings: SETTINGS.light }),
        await page.evaluate(svgOf, { text, settings: SETTINGS.dark }),
      ];
      writeFileSync(svg, `${framed(light, dark, alt)}\n${mark}\n`);
      console.log(svg);
    }
  } finally {
    await browser.close();
  }
}

/** How Mermaid draws in one set of colours. */
function settings(colors) {
  return {
    startOnLoad: false,
    theme: "base",
    look: "classic",
    fontSize: 13,
    themeCSS: ".edgeLabel rect { opacity: 1 }",
    themeVariables: {
      fontFamily: FONT,
      fontSize: "13px",
      dropShadow: "none",
      background: colors.paper,
      primaryColor: colors.box,
      primaryBorderColor: colors.line,
      textColor: colors.text,
      primaryTextColor: colors.text,
      lineColor: colors.arrow,
      edgeLabelBackground: colors.paper,
      clusterBkg: colors.group,
      clusterBorder: colors.line,
      noteBkgColor: colors.group,
      noteBorderColor: colors.line,
      noteTextColor: colors.quiet,
      actorLineColor: colors.line,
      signalColor: colors.arrow,
      signalTextColor: colors.text,
      titleColor: colors.text,
      gridColor: colors.line,
      sectionBkgColor: colors.group,
      sectionBkgColor2: colors.group,
      altSectionBkgColor: colors.paper,
      doneTaskBkgColor: colors.paleOwn,
      doneTaskBorderColor: colors.own,
      activeTaskBkgColor: colors.box,
      activeTaskBorderColor: colors.other,
      critBkgColor: colors.paleBad,
      critBorderColor: colors.bad,
      taskTextDarkColor: colors.text,
      taskTextOutsideColor: colors.text,
    },
    htmlLabels: false,
    flowchart: {
      htmlLabels: false,
      useMaxWidth: false,
      wrappingWidth: 900,
      rankSpacing: 36,
      nodeSpacing: 24,
      padding: 9,
    },
    sequence: {
      useMaxWidth: false,
      mirrorActors: false,
      width: 92,
      actorMargin: 28,
      diagramMarginX: 8,
    },
    gantt: { useWidth: 470, useMaxWidth: false, leftPadding: 110, rightPadding: 20, fontSize: 12, sectionFontSize: 13 },
    state: { useMaxWidth: false },
    deterministicIds: true,
    deterministicIDSeed: "quicrpc",
  };
}

/** Runs in the page. */
async function svgOf({ text, settings: used }) {
  const { mermaid } = globalThis;
  mermaid.initialize(used);
  return (await mermaid.render("picture", text)).svg;
}

/** A drawing of its text in light colours whose styles are those of the dark one on a dark page; with its words for those who do not see it. */
function framed(light, dark, alt) {
  const [, x, y, width, height] = /viewBox="(\S+) (\S+) (\S+) (\S+)"/.exec(light).map(Number);
  const rules = (svg, { paper: fill }) => `${/<style>([^]*?)<\/style>/.exec(svg)[1]}.paper{fill:${fill};}`;
  const styles = style((colors) => rules(colors === LIGHT ? light : dark, colors));
  return light
    .replace(/<style>[^]*?<\/style>/, "")
    .replace(/^<svg[^>]*>/, (tag) => `${tag}<title>${alt}</title>${styles}${paper({ x, y, width, height })}`)
    .replaceAll(/>\s*<(?=\/?g\b)/g, ">\n<");
}
