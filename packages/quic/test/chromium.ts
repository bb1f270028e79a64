import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type LaunchOptions, type Page } from "playwright-core";
import { findChromium } from "./chromium-path.js";

export const chromiumPath: string | undefined = findChromium();

export function launchChromium(executablePath: string, options: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox"], ...options });
}

/** An empty page, with `scripts` to import by path. `close` ends its web server. */
export async function openPage(
  browser: Browser,
  scripts: Readonly<Record<string, string>> = {},
): Promise<{ page: Page; origin: string; close: () => void }> {
  const site = createServer(({ url = "" }, response) => {
    const script = scripts[url];
    const type = script === undefined ? "text/html" : "text/javascript";
    response.setHeader("content-type", type).end(script ?? "<!doctype html>");
  });
  const page = await browser.newPage();
  // A secure context, and a page that itself came from this machine: others may not connect to it.
  await new Promise<void>((listening) => site.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  await page.goto(origin);
  return { page, origin, close: () => void site.close() };
}
