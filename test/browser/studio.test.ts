// The studio in Chromium, against real servers: what it shows, how it calls, and who may use the process that carries its calls.
import { once } from "node:events";
import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { createBatches } from "@quicrpc/batch";
import type { Connection } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { durableRouter, resumableCalls } from "@quicrpc/durable/generated";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { connect, devCertificate, serve, type Server } from "@quicrpc/node";
import { createReflection, createTimings } from "@quicrpc/services";
import { studio } from "@quicrpc/studio";
import { type RunningStudio, serveStudio } from "@quicrpc/studio/command";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newRouter, type Seen } from "../../packages/http/test/service.js";
import { Chromium, executablePath } from "./chromium.js";
import { seriousFindings, studioPage } from "./studio-page.js";

const seen: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
const router = newRouter(seen);
const timings = createTimings();
const served = [timings.measure(router), timings.router, createBatches({ timings: true })];
const routers = [...served, createReflection(served)];

let server: Server;
let connection: Connection;
let running: RunningStudio;

beforeAll(async () => {
  server = await serve({ listen: "tcp://127.0.0.1:0", routers });
  connection = await connect(server.urls[0] as string);
  running = await serveStudio({ connection, target: "tcp://shop.example:4433" });
});
afterAll(async () => {
  await running?.close();
  await connection?.close();
  await server?.close();
});

/** A line, and after `going` lines without end. */
async function* lines(going: Promise<void>): AsyncGenerator<string> {
  yield "1";
  await going;
  for (let number = 2; ; number++) yield `${number} ${"x".repeat(1000)}`;
}

/** For what a busy machine makes wait. */
const PATIENT = { timeout: 10_000 } as const;

/** Sends a request as text, and returns the first line of its answer. */
function answerTo(lines: readonly string[]): Promise<string> {
  const { port } = new URL(running.url);
  const socket = connectTcp(Number(port), "127.0.0.1");
  socket.end(`${lines.join("\r\n")}\r\n\r\n`);
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (data) => (text += data));
    socket.on("error", reject).on("close", () => resolve(text.split("\r\n")[0] as string));
  });
}

describe("the process that carries calls", () => {
  const upgrade = (fields: Partial<Record<"host" | "origin" | "token" | "protocol", string>>): Promise<string> => {
    const own = new URL(running.url);
    const given = {
      host: own.host,
      origin: own.origin,
      token: own.hash.replace("#token=", ""),
      protocol: "quicrpc.v1",
      ...fields,
    };
    return answerTo([
      `GET /session?token=${given.token} HTTP/1.1`,
      `Host: ${given.host}`,
      `Origin: ${given.origin}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      `Sec-WebSocket-Protocol: ${given.protocol}`,
    ]);
  };

  it.each([
    ["a page of another origin", { origin: "https://evil.example" }, 403],
    ["a page of another port", { origin: "http://127.0.0.1:1" }, 403],
    ["a page without an origin", { origin: "null" }, 403],
    ["a page whose name was rebound", { host: "evil.example", origin: "http://evil.example" }, 421],
    ["whoever has no token", { token: "" }, 403],
    ["whoever guesses one", { token: "A".repeat(32) }, 403],
    ["another protocol", { protocol: "other" }, 400],
  ])("refuses %s", async (_, fields, status) => {
    expect(await upgrade(fields)).toContain(`HTTP/1.1 ${status}`);
  });

  it("gives its page to its own address alone, and nothing else", async () => {
    const { host, origin } = new URL(running.url);
    expect(await answerTo(["GET / HTTP/1.1", "Host: evil.example", "Connection: close"])).toContain("421");
    expect(await answerTo([`GET / HTTP/1.1`, `Host: ${host}`, "Connection: close"])).toContain("200");
    expect((await fetch(`${origin}/../package.json`)).status).toBe(404);
    expect((await fetch(origin, { method: "POST" })).status).toBe(405);
    const page = await fetch(origin);
    expect(page.headers.get("access-control-allow-origin")).toBeNull();
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).not.toContain("shop.example");
  });
});

describe.skipIf(executablePath === undefined)("the studio in a page", () => {
  let chromium: Chromium;
  const problems: string[] = [];

  beforeAll(async () => {
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
  });

  const opened = (method: string, url: string = running.url, options: object = {}): Promise<Page> => {
    problems.length = 0;
    return studioPage(chromium, { url, method, problems, options });
  };

  async function type(page: Page, json: unknown): Promise<void> {
    const editor = page.getByRole("textbox", { name: /^Message as/ });
    await editor.fill(JSON.stringify(json));
  }

  it("finds a method, makes an example of its schema, and calls it", async () => {
    const page = await opened("kinds");
    expect(new URL(page.url()).hash).toBe("#/test.v1.Http/kinds");
    await expect.poll(() => page.locator(".cm-content").innerText(), PATIENT).toContain('"big": "0"');
    const value = { at: "2026-01-02T03:04:05.000Z", data: "AQL/", big: "9007199254740993" };
    await type(page, value);
    await page.keyboard.press("Control+Enter");
    await page.locator(".status.ok").waitFor();
    expect(JSON.parse(await page.getByRole("region", { name: "Answer" }).locator("pre").innerText())).toEqual(value);
    await page.getByRole("tab", { name: "Timing" }).click();
    await page.getByText("Between the command and tcp://shop.example:4433").waitFor();
    await page.getByRole("row", { name: /^Server: handler .* ms$/ }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it("shows the steps of a batch, and no durations of single calls as its own", async () => {
    const page = await opened("run");
    const kinds = "test.v1.Http/kinds";
    const template = btoa('{"at":{"$date":"2026-01-02T03:04:05.000Z"},"data":{"$bytes":""},"big":null}');
    const big = { at: ["big"], from: { step: 0, path: ["big"] } };
    await type(page, {
      version: 1,
      steps: [
        {
          method: kinds,
          template: btoa('{"at":{"$date":"2026-01-02T03:04:05.000Z"},"data":{"$bytes":""},"big":{"$bigint":"7"}}'),
        },
        { method: kinds, template, references: [big] },
        { method: "test.v1.Http/fail" },
      ],
    });
    await page.keyboard.press("Control+Enter");
    await page.locator(".status.ok").waitFor();
    await page.getByRole("tab", { name: "Timing" }).click();
    await page.getByRole("row", { name: /^0 test\.v1\.Http\/kinds ok .* ms$/ }).waitFor();
    await page.getByRole("row", { name: /^1 test\.v1\.Http\/kinds, after 0 ok .* ms$/ }).waitFor();
    await page.getByRole("row", { name: /^2 test\.v1\.Http\/fail .*: none left .* ms$/ }).waitFor();
    expect(await page.getByRole("row", { name: /^Server: handler/ }).count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("says what does not fit as one types, and proposes what does", async () => {
    const page = await opened("items");
    await type(page, { n: "many", nn: 1 });
    await expect.poll(() => page.locator(".cm-lintRange").count(), PATIENT).toBe(2);
    await type(page, {});
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+Space");
    await page.locator(".cm-tooltip-autocomplete li", { hasText: "required" }).click();
    await expect.poll(() => page.locator(".cm-content").innerText(), PATIENT).toContain('{"n": 0}');
    await page.close();
  });

  it("shows a declared error with its details, and an answer's headers and trailers", async () => {
    const page = await opened("fail");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("alert").getByText("none left").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain('"left": 3');
    await page.getByRole("link", { name: "metadata", exact: true }).click();
    await page.getByText("Metadata, deadline and way").click();
    await page.getByRole("textbox", { name: /^Metadata/ }).fill("x-mine: <b>1</b>");
    await page.getByRole("button", { name: "Call" }).click();
    await page.locator(".status.ok").waitFor();
    expect(JSON.parse(await page.locator(".message pre").innerText())).toEqual({
      "call-name": expect.any(String),
      "x-mine": "<b>1</b>",
    });
    await page.getByRole("tab", { name: "Headers" }).click();
    await page.getByRole("row", { name: "x-cost 7" }).waitFor();
    await page.close();
  });

  it("shows a stream as it comes, only the rows that can be seen, and a pause holds the sender back", async () => {
    const page = await opened("endless");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    const given = async (): Promise<number> => {
      const before = seen.given;
      for (let frame = 0; frame < 10; frame++) await page.evaluate(() => new Promise(requestAnimationFrame));
      return seen.given - before;
    };
    await expect.poll(given, PATIENT).toBe(0);
    expect(await page.locator(".row").count()).toBeLessThan(60);
    const before = seen.given;
    await page.getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => seen.given, PATIENT).toBeGreaterThan(before);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".status.failed", { hasText: "cancelled" }).waitFor();
    await page.close();
  });

  it("sends the messages of client streams and of duplex calls one by one, to their end", async () => {
    const page = await opened("chat");
    await page.getByRole("button", { name: "Begin" }).click();
    for (const text of ["a", "<i>b"]) {
      await type(page, text);
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".row.received", { hasText: text.toUpperCase() }).waitFor();
    }
    await page.getByRole("button", { name: "End of messages" }).click();
    await page.locator(".status.ok", { hasText: "2 received · 2 sent" }).waitFor();
    await page.getByRole("link", { name: "sum", exact: true }).click();
    await page.getByRole("button", { name: "Begin" }).click();
    for (const number of [4, 5]) {
      await type(page, number);
      await page.getByRole("button", { name: "Send" }).click();
    }
    await page.getByRole("button", { name: "End of messages" }).click();
    await page.locator(".status.ok").waitFor();
    expect(await page.locator(".message pre").innerText()).toBe("9");
    await page.close();
  });

  it("remembers what was called, and a link brings its input along", async () => {
    const page = await opened("echo");
    await type(page, { text: "again" });
    await page.getByRole("button", { name: "Call" }).click();
    await page.locator(".status.ok").waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByRole("region", { name: "History" }).getByRole("button").first().waitFor();
    const link = `#/test.v1.Http/echo?${new URLSearchParams({ input: '{"text":"linked"}' }).toString()}`;
    await page.evaluate((hash) => void (location.hash = hash), link);
    await expect.poll(() => page.locator(".cm-content").innerText(), PATIENT).toContain("linked");
    await page.reload();
    await expect.poll(() => page.locator(".cm-content").innerText(), PATIENT).toContain("linked");
    await page.close();
  });

  it.each([
    ["light", 1200],
    ["dark", 1200],
    ["dark", 390],
    ["light", 390],
  ] as const)("can be used by everybody: %s, %i px wide", async (colorScheme, width) => {
    const page = await opened("items", running.url, { colorScheme, viewport: { width, height: 800 } });
    await type(page, { n: 5 });
    await page.getByRole("button", { name: "Call" }).click();
    await page.locator(".status.ok").waitFor();
    await page.locator(".row").first().click();
    for (const tab of ["Messages", "Timing", "Network"]) {
      await page.getByRole("tab", { name: tab }).click();
      expect(await seriousFindings(page)).toEqual([]);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("connects by itself where it is told to, and shows its own network", async () => {
    const tls = await devCertificate();
    const direct = await serve({ listen: "https://127.0.0.1:0", tls, routers, allowedOrigins: () => true });
    const target = direct.urls[0] as string;
    const certificateHashes = [Buffer.from(tls.hash.value).toString("hex")];
    const own = await serveStudio({ connection, target, direct: { certificateHashes } });
    const page = await opened("chat", own.url);
    await page.getByRole("button", { name: "Begin" }).click();
    await type(page, "a");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".row.received", { hasText: "A" }).waitFor();
    await page.getByRole("tab", { name: "Network" }).click();
    await page.getByText("Measured: this page's network.").waitFor();
    expect(problems).toEqual([]);
    await page.close();
    await own.close();
    await direct.close();
  });

  it("shows the schemas of the command where the server says nothing, and calls it by the process or by itself", async () => {
    const tls = await devCertificate();
    const silent = await serve({ listen: "https://127.0.0.1:0", tls, routers: [router], allowedOrigins: () => true });
    const target = silent.urls[0] as string;
    await using carried = await connect(target, { serverCertificateHashes: [tls.hash] });
    const reflection = createReflection([router]);
    const direct = { certificateHashes: [Buffer.from(tls.hash.value).toString("hex")] };
    for (const way of [{}, { direct }]) {
      const own = await serveStudio({ connection: carried, target, reflection, ...way });
      const page = await opened("kinds", own.url);
      await page.getByText("Services are those of the command's schemas.").waitFor();
      const value = { at: "2026-01-02T03:04:05.000Z", data: "AQL/", big: "9007199254740993" };
      await type(page, value);
      await page.getByRole("button", { name: "Call" }).click();
      await page.locator(".status.ok").waitFor();
      expect(JSON.parse(await page.locator(".message pre").innerText())).toEqual(value);
      expect(problems).toEqual([]);
      await page.close();
      await own.close();
    }
    await silent.close();
  });

  it("marks what goes on after the loss of its session, and shows what it holds back of the sender", async () => {
    const given = { id: 1, output: uncheckedCodec<string>(), extension: resumableCalls, idempotent: true } as const;
    const tail = defineMethod({ name: "test.v1.Log", id: 4722 }, "server_stream", "tail", given);
    let go = (): void => {};
    const going = new Promise<void>((resolve) => (go = resolve));
    const own = [durableRouter(createRouter({ tail }, { tail: () => lines(going) }))];
    const live = await serve({ listen: "tcp://127.0.0.1:0", routers: [...own, createReflection(own)] });
    await using carried = await connect(live.urls[0] as string);
    const shown = await serveStudio({ connection: carried, target: live.urls[0] as string });
    const page = await opened("tail", shown.url);
    await page.getByRole("list", { name: "Kind" }).getByText("resumable", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Call" }).click();
    await page.locator(".row.received").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    go();
    await page.getByRole("tab", { name: "Network" }).click();
    await page.getByRole("row", { name: /^Lanes 1$/ }).waitFor();
    await page.getByRole("row", { name: /^Calls in lanes 1$/ }).waitFor();
    await page.getByRole("row", { name: /^Credit to receive in lanes 0 bytes$/ }).waitFor();
    await page.getByRole("img", { name: /^Credit and what is held/ }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
    await shown.close();
    await live.close();
  });

  it("is mounted in a server of one's own, where it calls by HTTP", async () => {
    const handler = createFetchHandler({ routers, prefix: "/api", extensions: [studio({ title: "Shop <1>" })] });
    const own: HttpServer = createServer(toNodeHandler(handler) as RequestListener).listen(0, "127.0.0.1");
    await once(own, "listening");
    const url = `http://127.0.0.1:${(own.address() as AddressInfo).port}/api/studio`;
    const page = await opened("items", url);
    expect(await page.title()).toBe("items · Shop <1>");
    await type(page, { n: 3 });
    await page.getByRole("button", { name: "Call" }).click();
    await page.locator(".status.ok", { hasText: "3 received" }).waitFor();
    expect(problems).toEqual([]);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${url}?other`)).status).toBe(404);
    await page.close();
    own.close();
  });
});
