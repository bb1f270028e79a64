import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import type { Chromium } from "./chromium.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Options of a page of the studio. */
export interface StudioPageOptions {
  readonly url: string;
  readonly method: string;
  /** Receives the page's errors, and its requests to elsewhere. */
  readonly problems: string[];
  /** Options of the browser's page. */
  readonly options?: object;
}

/** Opens a page of the studio at a method. */
export async function studioPage(
  { browser }: Chromium,
  { url, method, problems, options = {} }: StudioPageOptions,
): Promise<Page> {
  const page = await browser.newPage(options);
  // Less than a test has: its error says what was waited for.
  page.setDefaultTimeout(15_000);
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("console", (said) => {
    if (said.type() === "error") problems.push(said.text());
  });
  await page.goto(url);
  await page.getByRole("link", { name: method, exact: true }).click();
  await page.getByRole("button", { name: /^(Call|Begin)$/ }).waitFor();
  return page;
}

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Returns what axe finds on a page that is serious. */
export async function seriousFindings(page: Page): Promise<unknown> {
  // The page's policy lets no script in: the tool's comes in by the debugger.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const tool = globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } };
    const { violations } = await tool.axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
  });
}
