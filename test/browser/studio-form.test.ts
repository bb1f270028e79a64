// The studio's form in Chromium: made from a schema with a field of every kind, in step with the text beside it.
import type { Connection } from "@quicrpc/core";
import { connect, serve, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { type RunningStudio, serveStudio } from "@quicrpc/studio/command";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createFormRouter } from "../../packages/studio/test/generated/form.js";
import { Chromium, executablePath } from "./chromium.js";
import { seriousFindings, studioPage } from "./studio-page.js";

type Everything = Parameters<Parameters<typeof createFormRouter>[0]["echo"]>[0];

const received: Everything[] = [];
const router = createFormRouter({
  echo(input) {
    received.push(input);
    return input;
  },
});

/** For what a busy machine makes wait. */
const PATIENT = { timeout: 10_000 } as const;

describe.skipIf(executablePath === undefined)("the studio's form", () => {
  let server: Server;
  let connection: Connection;
  let running: RunningStudio;
  let chromium: Chromium;
  const problems: string[] = [];

  beforeAll(async () => {
    chromium = await Chromium.launch();
    server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router, createReflection([router])] });
    connection = await connect(server.urls[0] as string);
    running = await serveStudio({ connection, target: "tcp://forms.example:4433" });
  }, 60_000);
  afterAll(async () => {
    await running?.close();
    await connection?.close();
    await server?.close();
    await chromium?.close();
  });
  beforeEach(() => {
    problems.length = 0;
    received.length = 0;
  });

  const opened = (options: object = {}): Promise<Page> =>
    studioPage(chromium, { url: running.url, method: "echo", problems, options });
  const editor = (page: Page) => page.getByRole("textbox", { name: "Message as JSON" });
  const typed = async (page: Page): Promise<unknown> => JSON.parse(await editor(page).innerText());
  const says = async (page: Page, members: object): Promise<void> => {
    await expect.poll(() => typed(page), PATIENT).toMatchObject(members);
  };
  const group = (page: Page, name: string) => page.getByRole("group", { name, exact: true });

  it("fills every kind of field, and the call carries what they mean", async () => {
    const page = await opened();
    await page.getByLabel("name", { exact: true }).fill('A "b"');
    await page.getByLabel("count", { exact: true }).fill("3");
    await page.getByLabel("ratio", { exact: true }).fill("1.50");
    await page.getByLabel("yes", { exact: true }).check();
    await page.getByLabel("state", { exact: true }).selectOption("paid");
    await page.getByLabel("at, in RFC 3339").fill("2026-01-02T03:04:05.678Z");
    await page.getByLabel("big", { exact: true }).fill("9007199254740993");
    await page.getByLabel("data, from a file").setInputFiles({
      name: "three.bin",
      mimeType: "application/octet-stream",
      buffer: Buffer.from([1, 2, 255]),
    });
    await group(page, "data").getByText("3 bytes").waitFor();
    await page.getByLabel("nick is").selectOption("null");
    await page.getByRole("button", { name: "+ note optional" }).click();
    await page.getByLabel("note", { exact: true }).fill("two\nlines");
    await page.getByLabel("payment is").selectOption({ label: 'by: "invoice"' });
    await page.getByLabel("due, in RFC 3339").fill("2027-01-01T00:00:00.000Z");
    await page.getByRole("button", { name: "Add to lines" }).click();
    await page.getByLabel("item", { exact: true }).fill("pen");
    await page.getByLabel("pieces", { exact: true }).fill("2");
    await page.getByLabel("pair 1", { exact: true }).fill("x");
    await page.getByLabel("pair 2", { exact: true }).fill("-1e3");
    await page.getByRole("button", { name: "Add an entry to prices" }).click();
    await group(page, "prices").getByLabel("Key", { exact: true }).fill("net");
    await page.getByLabel("Value of net").fill("12345678901234567890");
    await page.getByRole("button", { name: "Add an entry to tags" }).click();
    await page.getByLabel("Value of key1").fill("t");
    await page.getByRole("button", { name: "Add to marks" }).click();
    await page.getByLabel("marks 1", { exact: true }).fill("m");
    await page.getByRole("button", { name: "+ chain optional" }).click();
    await page.getByRole("button", { name: "+ next optional" }).click();
    await group(page, "next").getByLabel("name", { exact: true }).fill("second");
    await page.getByRole("button", { name: "+ rest optional" }).click();
    await page.getByLabel("rest", { exact: true }).fill('{"any": [1]}');
    await page.keyboard.press("Control+Enter");
    await page.locator(".status.ok").waitFor();
    expect(received).toEqual([
      {
        name: 'A "b"',
        count: 3,
        ratio: 1.5,
        yes: true,
        state: "paid",
        at: new Date("2026-01-02T03:04:05.678Z"),
        big: 9007199254740993n,
        data: Uint8Array.of(1, 2, 255),
        nick: null,
        note: "two\nlines",
        payment: { by: "invoice", due: new Date("2027-01-01T00:00:00.000Z") },
        lines: [{ item: "pen", pieces: 2 }],
        pair: ["x", -1000],
        prices: new Map([["net", 12345678901234567890n]]),
        tags: { key1: "t" },
        marks: new Set(["m"]),
        chain: { name: "", next: { name: "second" } },
        rest: { any: [1] },
      },
    ]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("is in step with the text both ways, and keeps what of it was typed by hand", async () => {
    const page = await opened();
    await editor(page).fill('{ "name":   "by hand", "count": 7 }');
    await expect.poll(() => page.getByLabel("name", { exact: true }).inputValue(), PATIENT).toBe("by hand");
    await page.getByLabel("count", { exact: true }).fill("8");
    await expect.poll(() => editor(page).innerText(), PATIENT).toBe('{ "name":   "by hand", "count": 8 }');
    await editor(page).fill('{ "name": ');
    await page.getByText("The text is not valid JSON: the form waits until it is.").waitFor();
    await editor(page).fill('{"name": []}');
    await group(page, "name").getByRole("button", { name: "Begin anew" }).click();
    await says(page, { name: "x" });
    await page.close();
  });

  it("says what does not fit as one types, beside the field", async () => {
    const page = await opened();
    const invalid = (label: string): Promise<string | null> =>
      page.getByLabel(label, { exact: true }).getAttribute("aria-invalid");
    const said = async (label: string): Promise<string> => {
      const by = await page.getByLabel(label, { exact: true }).getAttribute("aria-describedby");
      return page.locator(`#${by ?? ""}`).innerText();
    };
    await page.getByLabel("count", { exact: true }).fill("12");
    expect(await invalid("count")).toBe("true");
    expect(await said("count")).toContain("It takes 9 or less.");
    await page.getByLabel("count", { exact: true }).fill("1x");
    expect(await said("count")).toContain("It takes an integer.");
    expect(await page.getByLabel("count", { exact: true }).inputValue()).toBe("1x");
    await page.getByLabel("count", { exact: true }).fill("1");
    expect(await invalid("count")).toBe("false");
    await page.getByLabel("name", { exact: true }).fill("");
    expect(await said("name")).toContain("It takes 1 characters or more.");
    expect(await said("name")).toContain("As on the label.");
    await page.getByLabel("at, in RFC 3339").fill("tomorrow");
    expect(await group(page, "at").innerText()).toContain("It takes a time");
    await page.getByRole("button", { name: "Add an entry to tags" }).click();
    await group(page, "tags").getByLabel("Key", { exact: true }).fill("t");
    await group(page, "tags").getByText("It takes 2 characters or more.").waitFor();
    await page.close();
  });

  it("is used by the keyboard: what is added has the focus, and what is removed gives it back", async () => {
    const page = await opened();
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const { activeElement } = document;
        const label = activeElement instanceof HTMLInputElement || activeElement instanceof HTMLTextAreaElement;
        return activeElement?.getAttribute("aria-label") ?? (label ? (activeElement.labels?.[0]?.innerText ?? "") : "");
      });
    await page.getByRole("button", { name: "Add to lines" }).press("Enter");
    await expect.poll(focused, PATIENT).toBe("item");
    await page.keyboard.type("pen");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("pieces");
    await page.getByRole("button", { name: "Remove lines 1" }).press("Enter");
    await expect.poll(focused, PATIENT).toBe("Add to lines");
    await says(page, { lines: [] });
    await page.getByRole("button", { name: "+ note optional" }).press("Space");
    await expect.poll(focused, PATIENT).toBe("note");
    await page.close();
  });

  it("takes a file that is dropped on a field, and none that is too large", async () => {
    const page = await opened();
    const drop = (bytes: number): Promise<void> =>
      page.locator(".drop").evaluate((place, size) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([new Uint8Array(size).fill(7)], "dropped.bin"));
        place.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
      }, bytes);
    await drop(2);
    await says(page, { data: "Bwc=" });
    await drop(1024 * 1024 + 1);
    await group(page, "data").getByText("at most 1048576 are taken").waitFor();
    await says(page, { data: "Bwc=" });
    await page.close();
  });

  it("may be alone, or not be there, which is remembered", async () => {
    const page = await opened();
    await page.getByRole("radio", { name: "Form", exact: true }).check();
    await expect.poll(() => editor(page).count(), PATIENT).toBe(0);
    await page.getByLabel("name", { exact: true }).fill("kept");
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    await expect.poll(() => typed(page), PATIENT).toMatchObject({ name: "kept" });
    expect(await page.getByLabel("name", { exact: true }).count()).toBe(0);
    await page.reload();
    await editor(page).waitFor();
    expect(await page.getByLabel("name", { exact: true }).count()).toBe(0);
    await page.getByRole("radio", { name: "Form and JSON" }).check();
    await page.close();
  });

  it.each([
    ["light", 1200],
    ["dark", 390],
    ["light", 390],
    ["dark", 1200],
  ] as const)("can be used by everybody: %s, %i px wide", async (colorScheme, width) => {
    const page = await opened({ colorScheme, viewport: { width, height: 800 } });
    for (const name of [
      "+ note optional",
      "+ chain optional",
      "+ rest optional",
      "Add an entry to prices",
      "Add to lines",
    ])
      await page.getByRole("button", { name }).click();
    await page.getByLabel("count", { exact: true }).fill("many");
    await page.getByLabel("payment is").selectOption({ index: 1 });
    // Elements that the editor changes meanwhile are none that the tool can name.
    await expect.poll(() => page.locator(".cm-lintRange").count(), PATIENT).toBeGreaterThan(0);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(problems).toEqual([]);
    await page.close();
  });
});
