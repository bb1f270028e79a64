// npm run pictures:studio: takes docs/pictures/studio.png and studio-dark.png, a call of examples/arith in the studio, in a Chromium of this machine,
// and writes what they show as words into docs/pictures/studio.txt.
// npm run pictures:studio -- --check fails where the studio shows something else now. Numbers may differ: each call has times of its own.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { serveStudio } from "@quicrpc/studio/command";
import { chromium } from "playwright-core";
import { fail, root, run, setup, tool } from "../scripts/setup.mjs";

const CHROMIUM = [process.env.QUICRPC_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
const WORDS = join(root, "docs/pictures/studio.txt");
const checks = process.argv.includes("--check");

const executablePath = CHROMIUM.find((path) => path !== undefined && existsSync(path));
if (executablePath === undefined) {
  if (!checks) fail("pictures are taken in Chromium: install it, or set QUICRPC_CHROMIUM");
  console.log("skipped: pictures of the studio are taken in Chromium");
  process.exit(0);
}
if (!(await setup({ engineOptional: true }))) {
  console.log("skipped: pictures of the studio show a call over QUIC");
  process.exit(0);
}
if ((await run([...tool.tsc, "-p", "examples/arith"])).code !== 0) fail("examples/arith does not build");
const { createArithRouter } = await import("../examples/arith/dist/generated/arith.js");

const router = createArithRouter({
  multiply: ({ a, b }) => ({ pro: a * b }),
  divide: ({ a, b }) => ({ quo: Math.trunc(a / b), rem: a % b }),
  log() {},
  async *ticks({ n, everyMs }) {
    for (let i = 0; i < n; i++) {
      yield { i, at: Date.now() };
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  },
});
const tls = await devCertificate();
const server = await serve({ listen: "quic://127.0.0.1:0", tls, routers: [router, createReflection([router])] });
const connection = await connect(server.urls[0], { serverCertificateHashes: [tls.hash] });
const studio = await serveStudio({ connection, target: "quic://localhost:4433" });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let words;
try {
  words = await take("studio", "light");
  if (!checks) await take("studio-dark", "dark");
} finally {
  await browser.close();
  await studio.close();
  await connection.close();
  await server.close();
}
if (!checks) writeFileSync(WORDS, words);
else if (readFileSync(WORDS, "utf8") !== words)
  fail("npm run pictures:studio draws anew: the studio shows something else");

/** Takes a picture of a call, and returns the words in it. */
async function take(name, colorScheme) {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 720 } });
  await page.goto(studio.url);
  await page.getByRole("link", { name: "ticks", exact: true }).click();
  await page.getByRole("textbox", { name: /^Message as/ }).fill('{ "n": 40, "everyMs": 100 }');
  await page.getByRole("button", { name: "Call" }).click();
  await page.locator(".status.ok").waitFor();
  await page.getByRole("tab", { name: "Network" }).click();
  await page.locator(".answer").evaluate((answer) => answer.scrollIntoView());
  if (!checks) await page.screenshot({ path: join(root, `docs/pictures/${name}.png`) });
  const shown = await page.locator("body").ariaSnapshot();
  await page.close();
  return `${shown.replaceAll(hostname(), "localhost").replaceAll(/\d+(?:[.,]\d+)*/g, "0")}\n`;
}
