import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { AxeResults } from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";
import { WhiteboardServer } from "./whiteboard-server.js";

/** Longer than a browser takes to find out that a server was killed. */
const WAIT_MS = 45_000;

const axe = createRequire(import.meta.url).resolve("axe-core");
const screenshots = fileURLToPath(new URL("screenshots/", import.meta.url));

describe.skipIf(executablePath === undefined)("examples/whiteboard", { timeout: 120_000 }, () => {
  let chromium: Chromium;
  let server: WhiteboardServer;
  let pages: Page[];

  beforeAll(async () => {
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());
  beforeEach(async () => {
    pages = [];
    server = await WhiteboardServer.start();
  });
  afterEach(async () => {
    await Promise.all(pages.map((page) => page.context().close()));
    await server.remove();
  });

  /** Someone who opens the page, with a browser profile of their own; `script` runs before the page's own. */
  async function join(name: string, options: BrowserContextOptions = {}, script = "", room = ""): Promise<Page> {
    const context = await chromium.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    pages.push(page);
    await page.addInitScript(`localStorage.setItem("whiteboard name", "${name}"); ${script}`);
    await page.goto(server.url + room);
    await page.waitForSelector(`#people [title="${name}"]`, { state: "attached" });
    return page;
  }

  it("shows what one draws to the other, and what was drawn before to who comes later", async () => {
    const [ada, grace] = [await join("Ada"), await join("Grace")];
    await drawLine(ada, [100, 500], [1500, 500]);
    await inked(grace, 800, 500);
    await ada.click("[aria-label=red]");
    await drawLine(ada, [800, 100], [800, 900]);
    await inked(grace, 800, 200);
    const late = await join("Late");
    await inked(late, 800, 200);
    await ada.click("#undo");
    await inked(late, 800, 200, false);
    await inked(late, 400, 500);
    await grace.click("#clear");
    for (const page of [ada, grace, late]) await inked(page, 400, 500, false);
  });

  it("shows where the other points, by datagrams, until it leaves", async () => {
    const [ada, grace] = [await join("Ada"), await join("Grace")];
    const cursor = grace.locator(".cursor", { hasText: "Ada" });
    while (!(await cursor.isVisible())) await move(ada);
    expect(await shareLost(grace)).toBeLessThan(0.5);
    // Another name is another visit on the same session.
    await grace.fill("#name", "Grace II");
    await grace.press("#name", "Enter");
    await ada.waitForSelector('#people [title="Grace II"]');
    await until(grace, `document.getElementById("datagrams").textContent === "none received yet"`);
    while ((await grace.innerText("#datagrams")) === "none received yet") await move(ada);
    expect(await shareLost(grace)).toBeLessThan(0.5);
    await ada.close();
    await cursor.waitFor({ state: "detached" });
    await until(grace, `document.querySelectorAll("#people li").length === 1`);
  });

  it("carries the chat, with what was said before", async () => {
    const [ada, grace] = [await join("Ada"), await join("Grace")];
    await say(ada, "first");
    await grace.waitForSelector('.text >> text="first"');
    await say(grace, "second");
    await ada.waitForSelector('.text >> text="second"');
    const late = await join("Late");
    await late.waitForSelector('.text >> text="second"');
    expect(await late.locator(".message").allInnerTexts()).toEqual([
      expect.stringMatching(/^Ada .*first$/s),
      expect.stringMatching(/^Grace .*second$/s),
    ]);
  });

  it("brings a file bit for bit, chosen or dropped", async () => {
    const [ada, grace] = [await join("Ada"), await join("Grace")];
    const buffer = randomBytes(1_000_000);
    await ada.setInputFiles("#attach", { name: "chosen.bin", mimeType: "application/octet-stream", buffer });
    expect(buffer.equals(await saved(grace, "chosen.bin"))).toBe(true);
    await drop(grace, "dropped.txt", "what is in it");
    expect(String(await saved(ada, "dropped.txt"))).toBe("what is in it");
  });

  it("shows how far a file is, and lets it be cancelled", async () => {
    const noting = `{
      const { set, get } = Object.getOwnPropertyDescriptor(HTMLProgressElement.prototype, "value");
      globalThis.progress = [];
      Object.defineProperty(HTMLProgressElement.prototype, "value", { get, set(value) { progress.push(value); set.call(this, value); } });
    }`;
    const ada = await join("Ada", {}, noting);
    await drop(ada, "large.bin", 30_000_000);
    await ada.waitForSelector(".file >> text=large.bin");
    const progress: number[] = (await ada.evaluate("progress")) as number[];
    expect(progress.length).toBeGreaterThan(10);
    expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    expect([progress[0], progress.at(-1)]).toEqual([0, 1]);
    // It reads nothing more: what is under way can not end.
    server.signal("SIGSTOP");
    await drop(ada, "stuck.bin", 30_000_000);
    await ada.screenshot({ path: `${screenshots}upload.png` });
    await ada.click(".uploads button");
    await ada.waitForSelector(".uploads li", { state: "detached" });
    server.signal("SIGCONT");
    await say(ada, "after");
    await ada.waitForSelector('.text >> text="after"');
    expect(await ada.locator(".message").count()).toBe(2);
  });

  it("refuses a file that is too large, and says so", async () => {
    const ada = await join("Ada");
    await drop(ada, "huge.bin", 33 * 1024 * 1024);
    await ada.waitForSelector(".uploads .failed");
    await ada.click(".uploads button");
    await ada.waitForSelector(".uploads li", { state: "detached" });
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "goes on after %s: all is there, once, also what was done without a server",
    async (signal) => {
      const [ada, grace] = [await join("Ada"), await join("Grace")];
      await drawLine(ada, [100, 300], [1500, 300]);
      await drawLine(grace, [100, 700], [1500, 700]);
      await inked(ada, 800, 700);
      await say(ada, "before");
      await drop(ada, "kept.txt", "what is in it");
      await grace.waitForSelector(".file");
      await server.end(signal);
      await drawLine(grace, [100, 500], [1500, 500]);
      await say(grace, "meanwhile");
      await inked(grace, 800, 500);
      await server.restart();
      const late = await join("Late");
      for (const page of [ada, grace, late]) {
        for (const y of [300, 500, 700]) await inked(page, 800, y);
        await page.waitForSelector('.text >> text="meanwhile"');
        expect(await page.locator(".text").allInnerTexts()).toEqual(["before", "", "meanwhile"]);
      }
      expect(String(await saved(late, "kept.txt"))).toBe("what is in it");
      await late.click("#clear");
      for (const page of [ada, grace, late]) await inked(page, 800, 500, false);
    },
  );

  it("knows who one is after a page was loaded again: one's lines can be taken back", async () => {
    const [ada, grace] = [await join("Ada"), await join("Grace")];
    await drawLine(ada, [100, 300], [1500, 300]);
    await drawLine(grace, [100, 700], [1500, 700]);
    for (const y of [300, 700]) await inked(ada, 800, y);
    await ada.reload();
    for (const y of [300, 700]) await inked(ada, 800, y);
    await drawLine(ada, [100, 500], [1500, 500]);
    await inked(grace, 800, 500);
    await ada.click("#undo");
    await inked(grace, 800, 500, false);
    await inked(grace, 800, 300);
    await ada.click("#undo");
    for (const page of [ada, grace]) {
      await inked(page, 800, 300, false);
      await inked(page, 800, 700);
    }
  });

  it("keeps rooms apart", async () => {
    const ada = await join("Ada");
    const grace = await join("Grace", {}, "", "#another");
    expect(await grace.locator("#people li").count()).toBe(1);
    await drawLine(grace, [100, 500], [1500, 500]);
    await say(grace, "alone");
    await grace.waitForSelector('.text >> text="alone"');
    const other = await join("Other", {}, "", "#another");
    await inked(other, 800, 500);
    await say(ada, "here");
    await ada.waitForSelector('.text >> text="here"');
    expect(await ada.locator(".text").allInnerTexts()).toEqual(["here"]);
    await inked(ada, 800, 500, false);
  });

  it("says what it runs over, and why", async () => {
    const ada = await join("Ada");
    expect(await ada.innerText("#transport")).toBe("WebTransport");
    await until(ada, `/^[\\d.]+ ms$/.test(document.getElementById("rtt").textContent)`);
    expect(await ada.innerText("#methods")).toBe("subscribeBoard, join, subscribeChat");
    const grace = await join("Grace", {}, "delete globalThis.WebTransport;");
    expect(await grace.innerText("#transport")).toBe("WebSocket");
    expect(await grace.innerText("#why")).toContain("WebTransport failed: this browser does not support it");
    await drawLine(grace, [100, 500], [1500, 500]);
    await inked(ada, 800, 500);
    while (!(await grace.locator(".cursor").isVisible())) await move(ada);
    expect(await grace.innerText("#datagrams")).toBe("a WebSocket has no datagrams");
    await grace.screenshot({ path: `${screenshots}websocket.png` });
  });

  it("moves to WebTransport with its seat when that works again", async () => {
    // The first attempt is refused, as by a network that blocks UDP.
    const refusedOnce = `{
      const Native = WebTransport;
      globalThis.WebTransport = class {
        ready = Promise.reject(new Error("no UDP here"));
        closed = new Promise(() => {});
        close() {}
        constructor() { globalThis.WebTransport = Native; }
      };
    }`;
    const [ada, grace] = [await join("Ada", {}, refusedOnce), await join("Grace")];
    expect(await ada.innerText("#why")).toContain("no UDP here");
    const place = await ada.locator("#canvas").boundingBox();
    await until(ada, `document.getElementById("transport").textContent === "WebTransport"`);
    // Whatever the panel says, the board does not move under a pen; a move would take until the next frame.
    await ada.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    expect(await ada.locator("#canvas").boundingBox()).toEqual(place);
    await drawLine(ada, [100, 500], [1500, 500]);
    await inked(grace, 800, 500);
    await say(ada, "moved");
    await grace.waitForSelector('.text >> text="moved"');
    while (!(await grace.locator(".cursor", { hasText: "Ada" }).isVisible())) await move(ada);
  });

  it("ends at once on Ctrl-C, with pages open", async () => {
    await join("Ada");
    expect(await server.end("SIGINT")).toBe(0);
  });

  it.each([{}, { colorScheme: "dark" }, { viewport: { width: 390, height: 844 } }] as const)(
    "has nothing that axe objects to: %o",
    async (options) => {
      // The page's policy lets no script of a test in.
      const ada = await join("Ada", { ...options, bypassCSP: true });
      await say(ada, "hello");
      await drop(ada, "file.txt", "its text");
      await ada.waitForSelector(".file");
      await ada.addScriptTag({ path: axe });
      const { passes, violations } = (await ada.evaluate("axe.run()")) as AxeResults;
      expect(violations.map(({ help, nodes }) => [help, nodes.map(({ html }) => html)])).toEqual([]);
      expect(passes.length).toBeGreaterThan(30);
    },
  );

  it("looks as in the screenshots", async () => {
    const ada = await join("Ada Lovelace");
    const grace = await join("Grace Hopper", { colorScheme: "dark" });
    await scene(ada, grace);
    await ada.screenshot({ path: `${screenshots}light.png` });
    await grace.screenshot({ path: `${screenshots}dark.png` });
    const narrow = await join("Katherine Johnson", { viewport: { width: 390, height: 844 } });
    await inked(narrow, 800, 800);
    await narrow.screenshot({ path: `${screenshots}narrow.png`, fullPage: true });
    expect(await narrow.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  });
});

/** From one point of the board to another, in its units. */
async function drawLine(page: Page, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  await drawCurve(page, (t) => [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t]);
}

async function drawCurve(page: Page, at: (t: number) => readonly [number, number], steps = 24): Promise<void> {
  const box = await page.locator("#canvas").boundingBox();
  if (box === null) throw new Error("there is no canvas");
  for (let step = 0; step <= steps; step++) {
    const [x, y] = at(step / steps);
    await page.mouse.move(box.x + (x / 1600) * box.width, box.y + (y / 1000) * box.height);
    if (step === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

/** Waits until the condition holds. The page's own policy lets it evaluate no text, so that it is asked again and again. */
function until(page: Page, condition: string): Promise<void> {
  return expect.poll(() => page.evaluate(condition), { timeout: WAIT_MS, interval: 30 }).toBe(true);
}

/** Waits until a line goes through the point, or none does. */
async function inked(page: Page, x: number, y: number, wanted = true): Promise<void> {
  const isInked = `(() => {
    const canvas = document.getElementById("canvas");
    const scale = canvas.width / 1600;
    return canvas.getContext("2d").getImageData(${x} * scale, ${y} * scale, 1, 1).data[3] > 0;
  })()`;
  await until(page, `${isInked} === ${wanted}`);
}

async function move(page: Page): Promise<void> {
  const box = await page.locator("#canvas").boundingBox();
  if (box !== null) await page.mouse.move(box.x + Math.random() * box.width, box.y + Math.random() * box.height);
}

/** The share of cursors that is lost, as the panel says. Nearly none on one machine; more than half would be a miscount. */
async function shareLost(page: Page): Promise<number> {
  const [, lost, sent] = /^(\d+) of (\d+)$/.exec(await page.innerText("#datagrams")) ?? [];
  return Number(lost) / Number(sent);
}

async function say(page: Page, text: string): Promise<void> {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
}

/** Drops a file on the page: what is in it, or how many zeros. */
async function drop(page: Page, name: string, content: string | number): Promise<void> {
  await page.evaluate(`{
    const content = ${typeof content === "string" ? JSON.stringify(content) : `new Uint8Array(${content})`};
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([content], ${JSON.stringify(name)}));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }`);
}

async function saved(page: Page, name: string): Promise<Buffer> {
  const card = page.locator(".file", { hasText: name });
  const [download] = await Promise.all([page.waitForEvent("download"), card.locator("button").click()]);
  expect(download.suggestedFilename()).toBe(name);
  return readFile(await download.path());
}

/** Something to look at. */
async function scene(ada: Page, grace: Page): Promise<void> {
  await drawCurve(ada, (t) => [160 + 560 * t, 420 + 200 * Math.sin(t * 9)]);
  await ada.click("[aria-label=blue]");
  await drawCurve(ada, (t) => [1150 + 240 * Math.cos(t * 6.4), 400 + 220 * Math.sin(t * 6.4)]);
  await grace.click("[aria-label=orange]");
  await grace.fill("#width", "18");
  await drawCurve(grace, (t) => [320 + 960 * t, 900 - 100 * Math.sin(t * Math.PI)]);
  await inked(ada, 800, 800);
  await say(grace, "Is this QUIC?");
  await ada.waitForSelector('.text >> text="Is this QUIC?"');
  await say(ada, "It is: the lines are a duplex stream, the cursors datagrams.");
  const buffer = await ada.locator("#canvas").screenshot();
  await ada.setInputFiles("#attach", { name: "board.png", mimeType: "image/png", buffer });
  for (const page of [ada, grace]) await page.waitForSelector(".file img", { state: "visible" });
  await drawCurve(grace, (t) => [900 + 60 * t, 200 + 160 * t]);
  await drawCurve(ada, (t) => [700 + 100 * t, 640 + 60 * t]);
  await grace.waitForSelector(".cursor");
  await ada.waitForSelector(".cursor");
  await until(grace, `/ms$/.test(document.getElementById("rtt").textContent)`);
}
