// The studio in Chromium without a mouse, and what it keeps: requests in the browser, as a file, and as code.
import { readFile } from "node:fs/promises";
import type { Connection } from "@quicrpc/core";
import { connect, serve, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { type RunningStudio, serveStudio } from "@quicrpc/studio/command";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newRouter } from "../../packages/http/test/service.js";
import { Chromium, executablePath } from "./chromium.js";
import { seriousFindings, studioPage } from "./studio-page.js";

const router = newRouter({ aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined });

/** For what a busy machine makes wait. */
const PATIENT = { timeout: 10_000 } as const;

describe.skipIf(executablePath === undefined)("the studio without a mouse", () => {
  let server: Server;
  let connection: Connection;
  let running: RunningStudio;
  let chromium: Chromium;
  const problems: string[] = [];

  beforeAll(async () => {
    chromium = await Chromium.launch();
    server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router, createReflection([router])] });
    connection = await connect(server.urls[0] as string);
    running = await serveStudio({ connection, target: "quic://shop.example:4433", trust: { dev: true } });
  }, 60_000);
  afterAll(async () => {
    await running?.close();
    await connection?.close();
    await server?.close();
    await chromium?.close();
  });

  const opened = (method: string): Promise<Page> => {
    problems.length = 0;
    const options = { permissions: ["clipboard-read", "clipboard-write"] };
    return studioPage(chromium, { url: running.url, method, problems, options });
  };
  const focused = (page: Page): Promise<string> =>
    page.evaluate(
      () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "",
    );
  /** Whether what has the focus shows it. */
  const isSeen = (page: Page): Promise<boolean> =>
    page.evaluate(() => {
      const at = document.activeElement as HTMLElement;
      const around = at.closest(".cm-editor, .views label, .button, .app, dialog");
      return [at, around ?? at].some((each) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
      });
    });

  it("a call is found, made, fed, looked at, ended, kept and copied by keys", { timeout: 60_000 }, async () => {
    const page = await opened("echo");
    await page.keyboard.press("Tab");
    await page.keyboard.press("/");
    await expect.poll(() => focused(page), PATIENT).toBe("Search methods");
    await page.keyboard.type("http chat");
    await page.keyboard.press("ArrowDown");
    expect(await isSeen(page)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "test.v1.Http/chat" }).waitFor();
    await page.keyboard.press("m");
    await expect.poll(() => focused(page), PATIENT).toBe("Message as JSON");
    await expect.poll(() => isSeen(page), PATIENT).toBe(true);
    await page.keyboard.press("Control+a");
    await page.keyboard.type('"one"');
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.locator(".row.received", { hasText: "ONE" }).waitFor();
    // It is text where one types.
    await page.keyboard.type("e");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.keyboard.press("a");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    expect(await page.locator(".row[aria-selected=true]").innerText()).toContain('"one"');
    await page.keyboard.press("ArrowDown");
    await page.getByRole("region", { name: "Message 2, received" }).getByText('"ONE"').waitFor();
    await page.keyboard.press("e");
    await page.locator(".status.ok", { hasText: "1 received · 1 sent" }).waitFor();
    await page.keyboard.press("s");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("my chat");
    await page.keyboard.press("Enter");
    await page.keyboard.press("y");
    expect(await isSeen(page)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByText("copied as TypeScript").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain('await writer.write("one");');
    expect(copied).toContain("serverCertificateHashes: [(await devCertificate()).hash]");
    await page.keyboard.press("4");
    await page.getByText("Measured: the network of").waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "test.v1.Http/crash" }).waitFor();
    await page.close();
  });

  it("the list of keys opens by one, and has those without Ctrl off", { timeout: 60_000 }, async () => {
    const page = await opened("echo");
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard" });
    await dialog.getByText("Search methods").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await page.keyboard.press("?");
    await page.keyboard.press("j");
    await page.keyboard.press("Control+Enter");
    await page.locator(".status").waitFor();
    expect(await dialog.count()).toBe(0);
    await page.getByRole("heading", { name: "test.v1.Http/echo" }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it("kept requests come back whole, and go through a file; one that is none is refused with the reason", {
    timeout: 60_000,
  }, async () => {
    const page = await opened("echo");
    await page.getByRole("textbox", { name: "Message as JSON" }).fill('{"text":"kept"}');
    await page.getByText("Metadata, deadline and way").click();
    await page.getByRole("textbox", { name: /^Metadata/ }).fill("tenant: north");
    await page.getByRole("button", { name: "Keep", exact: true }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("<b>mine</b>");
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("tab", { name: "Kept" }).click();
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as a file" }).click();
    const file = await readFile(await (await saving).path(), "utf8");
    expect(JSON.parse(file)).toMatchObject({
      quicrpcStudio: 1,
      requests: [{ name: "<b>mine</b>", input: '{"text":"kept"}', metadata: [["tenant", "north"]] }],
    });
    await page.getByRole("button", { name: "Forget <b>mine</b>" }).click();
    const said = page.getByRole("region", { name: "Kept" }).getByRole("status");
    const add = async (text: string): Promise<string> => {
      const before = await said.innerText();
      await page.getByLabel("Add a file").setInputFiles({ name: "a.json", mimeType: "", buffer: Buffer.from(text) });
      await expect.poll(() => said.innerText(), PATIENT).not.toBe(before);
      return said.innerText();
    };
    const request = { service: "a", method: "b", input: "{}", at: 1 };
    expect(await add("{")).toContain("The file is not valid JSON");
    expect(await add("[]")).toContain("not of the studio's requests");
    expect(await add(JSON.stringify({ quicrpcStudio: 1, requests: [request, { ...request, input: 1 }] }))).toContain(
      "Request 2 of the file is not valid",
    );
    expect(
      await add(JSON.stringify({ quicrpcStudio: 1, requests: [{ ...request, input: "x".repeat(30_000) }] })),
    ).toContain("longer than 20000 characters");
    expect(await page.locator(".requests li").count()).toBe(0);
    expect(await add(file)).toBe("1 added");
    expect(await seriousFindings(page)).toEqual([]);
    // Of another method, which makes the request's view anew.
    await page.getByRole("tab", { name: "Methods" }).click();
    await page.getByRole("link", { name: "nothing", exact: true }).click();
    await page.getByRole("tab", { name: "Kept" }).click();
    await page.getByRole("button", { name: /^<b>mine<\/b>/ }).click();
    await expect.poll(() => page.locator(".cm-content").innerText(), PATIENT).toBe('{"text":"kept"}');
    await page.getByText("Metadata, deadline and way").click();
    expect(await page.getByRole("textbox", { name: /^Metadata/ }).inputValue()).toBe("tenant: north");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("a declared error has its name, where the command carries the call", async () => {
    const page = await opened("fail");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("alert").getByText("EMPTY").waitFor();
    await page.close();
  });
});
