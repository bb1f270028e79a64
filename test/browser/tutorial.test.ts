// The page of docs/tutorial.md with its two services, each in a process of its own, from Vite's dev server.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import type { ViteDevServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";
import { startVite, urlOf } from "./vite-server.js";

const root = fileURLToPath(new URL("../../examples/tutorial", import.meta.url));
const cache = join(root, "../../test/.cache");

describe.skipIf(executablePath === undefined)("the tutorial", () => {
  const children: ChildProcess[] = [];
  let chromium: Chromium;
  let vite: ViteDevServer;
  let folder: string;

  /** Starts a service. Returns the URL that it prints. */
  async function start(name: string, env: Record<string, string>): Promise<string> {
    const program = join(folder, `${name}.mjs`);
    const entryPoints = [join(root, `src/serve-${name}.ts`)];
    await build({ entryPoints, outfile: program, bundle: true, packages: "external", platform: "node", format: "esm" });
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    let said = "";
    child.stderr.on("data", (text) => (said += String(text)));
    const ended = once(child, "close").then(() => Promise.reject(new Error(`${name} has ended: ${said}`)));
    const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])) as [string];
    return line.split(" ")[1] as string;
  }

  beforeAll(async () => {
    mkdirSync(cache, { recursive: true });
    folder = mkdtempSync(join(cache, "tutorial-"));
    const stock = await start("stock", {});
    process.env["VITE_ORDERS"] = await start("orders", { STOCK: stock });
    vite = await startVite(root, { generate: false });
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await vite?.close();
    const left = children.filter((child) => child.exitCode === null);
    const ended = left.map((child) => once(child, "exit"));
    for (const child of left) child.kill("SIGKILL");
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(): Promise<Page> {
    const page = await chromium.browser.newPage();
    await page.goto(urlOf(vite));
    return page;
  }

  async function order(page: Page, count: number): Promise<void> {
    await page.getByLabel("Count").fill(String(count));
    await page.getByText("Order").click();
  }

  it("takes orders, shows them in every page, and says what is left", async () => {
    const [one, other] = [await open(), await open()];
    await order(one, 8);
    await one.getByText("order 1").waitFor();
    for (const page of [one, other]) await page.getByText("8 apples").waitFor();
    await order(other, 3);
    await other.getByText("only 2 left").waitFor();
    await order(other, 0);
    await other.getByText("count").waitFor();
    // A page that comes later has what was placed before.
    await one.reload();
    await one.getByText("8 apples").waitFor();
    expect(await one.locator("li").count()).toBe(1);
  });
});
