import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";
import { Cluster, lackOfCluster } from "./cluster-server.js";

/** Longer than it takes until everything is well again. */
const WAIT_MS = 60_000;
/** Moves of the mouse in one stroke, and strokes of each page between two kills. */
const STEPS = 12;
const STROKES = 4;

/** A line as a page has it. */
interface Line {
  readonly by: string;
  readonly line: number;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const lack = executablePath === undefined ? "it needs Chromium" : lackOfCluster();
if (lack !== undefined) console.log(`skipped: two whiteboard servers of which one is killed, since ${lack}`);

describe.skipIf(lack !== undefined)("two whiteboard servers behind a balancer", () => {
  let chromium: Chromium;
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start();
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await cluster?.end();
  });

  it("are killed one after the other while two pages draw, and nobody notices", { timeout: 240_000 }, async () => {
    const errors: string[] = [];
    const join = async (name: string): Promise<Page> => {
      const context = await chromium.browser.newContext({ viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      page.on("pageerror", (error) => errors.push(`${name}: ${error.message}`));
      await page.addInitScript(`localStorage.setItem("whiteboard name", "${name}")`);
      await page.goto(`${cluster.url}#team`);
      await page.waitForSelector(`#people [title="${name}"]`, { state: "attached" });
      return page;
    };
    const pages = [await join("Ada"), await join("Grace")] as const;
    const [ada, grace] = pages;
    for (const page of pages) await until(page, `document.querySelectorAll("#people li").length === 2`);

    let drawn = 0;
    const drawAll = async (): Promise<void> => {
      for (let stroke = 0; stroke < STROKES; stroke++) {
        await Promise.all(pages.map((page, at) => draw(page, 40 + 20 * (drawn + stroke) + 10 * at)));
      }
      drawn += STROKES;
    };
    await drawAll();
    for (const name of ["a", "b"]) {
      // While they draw, and go on: what has left for it is not answered.
      await cluster.kill(name, drawAll);
      await ada.fill("#text", `without ${name}`);
      await ada.press("#text", "Enter");
      await drawAll();
      await cluster.runs(name, 2);
      await drawAll();
    }

    for (const page of pages) await until(page, `board.lines.size === ${2 * drawn} && board.ahead.size === 0`);
    const [one, other] = [await linesOf(ada), await linesOf(grace)];
    expect(one).toEqual(other);
    for (const by of new Set(one.map((line) => line.by))) {
      const own = one.filter((line) => line.by === by);
      expect(own).toHaveLength(drawn);
      // In the order in which they were drawn, from above to below, each with all of its points from left to right.
      const heights = own.map(({ points }) => points[0]?.y ?? 0);
      expect(heights).toEqual(heights.toSorted((a, b) => a - b));
      for (const { points } of own) {
        const xs = points.map(({ x }) => x);
        expect(xs).toHaveLength(STEPS + 1);
        expect(xs).toEqual(xs.toSorted((a, b) => a - b));
      }
    }
    const text = `[...document.querySelectorAll(".message .text")].map((each) => each.textContent).join()`;
    for (const page of pages) {
      await until(page, `${text} === "without a,without b"`);
      await until(page, `document.querySelectorAll("#people li").length === 2`);
      await until(page, `document.getElementById("status").textContent === "Connected"`);
      expect(await page.locator(":invalid, .failed").count()).toBe(0);
    }
    expect(errors).toEqual([]);
  });
});

/** A line from the left to the right, so many units from the upper edge of the board. */
async function draw(page: Page, y: number): Promise<void> {
  const box = await page.locator("#canvas").boundingBox();
  if (box === null) throw new Error("there is no canvas");
  for (let step = 0; step <= STEPS; step++) {
    await page.mouse.move(box.x + (0.1 + (0.8 * step) / STEPS) * box.width, box.y + (y / 1000) * box.height);
    if (step === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

function linesOf(page: Page): Promise<Line[]> {
  return page.evaluate("[...board.lines.all()].map(({ by, line, points }) => ({ by, line, points }))");
}

/** Waits until the condition holds. The page's own policy lets it evaluate no text, so that it is asked again and again. */
function until(page: Page, condition: string): Promise<void> {
  return expect.poll(() => page.evaluate(condition), { timeout: WAIT_MS, interval: 50 }).toBe(true);
}
