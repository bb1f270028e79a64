// node site/studio-picture.mjs: takes docs/pictures/studio.png and studio-dark.png, a call of examples/arith in the studio, in a Chromium of this machine.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { serveStudio } from "@quicrpc/studio/command";
import { chromium } from "playwright-core";
import { fail, root, run, setup, tool } from "../scripts/setup.mjs";

const CHROMIUM = [process.env.QUICRPC_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];

const executablePath = CHROMIUM.find((path) => path !== undefined && existsSync(path));
if (executablePath === undefined) fail("pictures are taken in Chromium: install it, or set QUICRPC_CHROMIUM");
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
try {
  await take("studio", "light");
  await take("studio-dark", "dark");
} finally {
  await browser.close();
  await studio.close();
  await connection.close();
  await server.close();
}
/** Takes a picture of a call. */
async function take(name, colorScheme) {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 720 } });
  await page.goto(studio.url);
  await page.getByRole("link", { name: "ticks", exact: true }).click();
  await page.getByRole("textbox", { name: /^Message as/ }).fill('{ "n": 40, "everyMs": 100 }');
  await page.getByRole("button", { name: "Call" }).click();
  await page.locator(".status.ok").waitFor();
  await page.getByRole("tab", { name: "Network" }).click();
  await page.locator(".answer").evaluate((answer) => answer.scrollIntoView());
  await page.screenshot({ path: join(root, `docs/pictures/${name}.png`) });
  await page.close();
}
