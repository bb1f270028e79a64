// The page for people beside /openapi.json, in a browser, under its own policy.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createFetchHandler, docsPage, toNodeHandler } from "@quicrpc/http";
import { createHealth } from "@quicrpc/services";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";

describe.skipIf(executablePath === undefined)("the page of an API", () => {
  let chromium: Chromium;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    const script = (): Promise<string> => readFile(fileURLToPath(import.meta.resolve("rapidoc")), "utf8");
    const handler = createFetchHandler({
      routers: [createHealth({}).router],
      prefix: "/api",
      openApi: true,
      extensions: [docsPage({ script, title: "Shop <1>" })],
    });
    server = createServer(toNodeHandler(handler) as RequestListener).listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    server?.close();
  });

  it("shows the methods, and asks no other server for anything", async () => {
    const page = await chromium.browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", ({ message }) => problems.push(message));
    page.on("console", (said) => {
      if (said.type() === "error") problems.push(said.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) problems.push(request.url());
    });
    await page.goto(`${origin}/api/docs`);
    await page.getByText("/quicrpc.v1.Health/check").first().waitFor();
    expect(await page.title()).toBe("Shop <1>");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("is read, and no more", async () => {
    expect((await fetch(`${origin}/api/docs`, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${origin}/api/docs?other`)).status).toBe(404);
    expect((await fetch(`${origin}/api/docs`, { headers: { origin: "https://evil.example" } })).status).toBe(403);
  });
});
