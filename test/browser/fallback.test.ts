import { createSocket } from "node:dgram";
import type { FallbackOptions, TransportInUse } from "@quicrpc/browser";
import { http2Transport } from "@quicrpc/fails-components";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { devCertificate, type DevCertificate, serve, type ServeOptions, type Server } from "@quicrpc/node";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { BLACKOUT, FAIR, openTcpLink, openUdpLink } from "@quicrpc/testing";
import { freePort } from "../../scripts/free-port.mjs";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";

interface Attempt {
  readonly ms: number;
  readonly kind: string;
  readonly reason?: string;
  readonly text: string;
}

describe.skipIf(executablePath === undefined)("connect in a page", () => {
  let chromium: Chromium;
  let client: string;
  let page: Page;
  let server: Server | undefined;
  let certificate: DevCertificate;

  beforeAll(async () => {
    certificate = await devCertificate();
    client = await bundle(`import "./browser/page/client.js";`);
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());
  beforeEach(async () => {
    page = await chromium.open();
    await page.addScriptTag({ content: client });
  });
  afterEach(async () => {
    await page.close();
    await server?.close();
  });

  async function listen(url: string, options: Partial<ServeOptions> = {}): Promise<number> {
    const { cert, key } = certificate;
    server = await serve({
      ...options,
      listen: [url],
      webSocket: true,
      tls: { cert, key },
      routers: [behaviourRouter(new Witness())],
    });
    return server.address.port;
  }

  function attempt(port: number, fallback: FallbackOptions = {}): Promise<Attempt> {
    const hash = JSON.stringify([...certificate.hash.value]);
    return page.evaluate(
      `attempt("https://127.0.0.1:${port}/rpc", ${hash}, ${JSON.stringify(fallback)})`,
    ) as Promise<Attempt>;
  }

  it("takes WebTransport where UDP passes", async () => {
    expect(await attempt(await listen("https://127.0.0.1:0/rpc"))).toMatchObject({
      kind: "webtransport",
      text: "through",
    });
  });

  it("takes a WebSocket within 2 s where UDP disappears", async () => {
    const port = await listen(`wss://127.0.0.1:${await freePort()}/rpc`);
    // Takes every packet and answers none.
    const blackHole = createSocket("udp4");
    await new Promise<void>((bound) => blackHole.bind(port, "127.0.0.1", bound));
    const { ms, ...seen } = await attempt(port);
    blackHole.close();
    expect(seen).toEqual({
      kind: "websocket",
      reason: "WebTransport did not answer within 1500 ms: UDP may be blocked",
      retryAt: expect.any(Number),
      text: "through",
    });
    expect(ms).toBeLessThan(2000);
  });

  it("works where no code may be made at run time", async () => {
    await page.close();
    const probe = "try { new Function(''); globalThis.strict = false; } catch { globalThis.strict = true; }";
    page = await chromium.openStrict(`${probe}\n${client}`);
    expect(await page.evaluate("strict")).toBe(true);
    expect(await attempt(await listen("https://127.0.0.1:0/rpc"))).toMatchObject({
      kind: "webtransport",
      text: "through",
    });
    await page.evaluate("connection.close().then(() => { globalThis.WebTransport = undefined; })");
    expect(await attempt(server?.address.port as number)).toMatchObject({ kind: "websocket", text: "through" });
  });

  it("takes a WebSocket where the page has an HTTP/2 connection to the server, on which browsers open it (RFC 8441)", async () => {
    const port = await listen("https://127.0.0.1:0/rpc", { advanced: { transports: [http2Transport()] } });
    await page.evaluate(`(async () => {
      await fetch("https://127.0.0.1:${port}/", { mode: "no-cors", credentials: "include" });
      globalThis.WebTransport = undefined;
    })()`);
    expect(await attempt(port)).toMatchObject({ kind: "websocket", text: "through" });
  });

  it("heals when the server is back on its port", async () => {
    const port = await listen(`https://127.0.0.1:${await freePort()}/rpc`);
    await attempt(port);
    await server?.close();
    await listen(`https://127.0.0.1:${port}/rpc`);
    const again = await page.evaluate(`connection.ready().then(() => connection.transport.kind)`);
    expect(again).toBe("webtransport");
  });

  it("moves over to WebTransport when UDP passes again, and finishes the calls in progress where they are", async () => {
    const port = await listen("https://127.0.0.1:0/rpc");
    const relay = await openUdpLink({ target: port });
    relay.conditions = BLACKOUT;
    const fallback = { url: `wss://127.0.0.1:${port}/rpc`, retry: { initialMs: 100, maxMs: 1000 } };
    expect(await attempt(relay.port, fallback)).toMatchObject({ kind: "websocket", text: "through" });
    await page.evaluate(`{
      const { readable, writable } = connection.duplex(methods.chat);
      globalThis.chat = { reader: readable.getReader(), writer: writable.getWriter() };
      globalThis.hear = async (text) => (await chat.writer.write(text), (await chat.reader.read()).value);
    }`);
    expect(await page.evaluate(`chat.reader.read()`)).toMatchObject({ value: "HELLO" });
    expect(await page.evaluate(`hear("one")`)).toBe("ONE");
    relay.conditions = FAIR;
    const seen = (await page.evaluate(`until("webtransport")`)) as TransportInUse[];
    expect(seen.at(-1)).toEqual({ kind: "webtransport" });
    expect(await page.evaluate(`connection.unary(methods.echo, { text: "moved" })`)).toEqual({ text: "moved" });
    expect(server?.sessions.size).toBe(2);
    expect(await page.evaluate(`hear("two")`)).toBe("TWO");
    await page.evaluate(`chat.writer.close()`);
    expect(await page.evaluate(`chat.reader.read()`)).toMatchObject({ value: "BYE" });
    await expect.poll(() => server?.sessions.size).toBe(1);
    relay.close();
  });

  it("calls over HTTP where neither UDP nor WebSockets pass, remembers that, and goes back when they do", async () => {
    const routers = [behaviourRouter(new Witness())];
    const handler = createFetchHandler({ routers, prefix: "/rpc", allowedOrigins: [chromium.url("/").slice(0, -1)] });
    const port = await listen("https://127.0.0.1:0/rpc", { http: toNodeHandler(handler) });
    const [udp, tcp] = [await openUdpLink({ target: port }), await openTcpLink({ target: port })];
    onTestFinished(() => {
      udp.close();
      tcp.close();
    });
    udp.conditions = BLACKOUT;
    tcp.conditions = BLACKOUT;
    const fallback = {
      url: `wss://127.0.0.1:${tcp.port}/rpc`,
      httpUrl: `https://127.0.0.1:${port}/rpc`,
      afterMs: 300,
      retry: { initialMs: 200, maxMs: 1000 },
    };
    const seen = await attempt(udp.port, fallback);
    expect(seen).toMatchObject({
      kind: "http",
      reason: expect.stringMatching(
        /^WebTransport did not answer within 300 ms: UDP may be blocked; WebSocket did not answer/,
      ),
      text: "through",
    });
    await page.reload();
    await page.addScriptTag({ content: client });
    const remembered = await attempt(udp.port, fallback);
    expect(remembered).toMatchObject({ kind: "http", text: "through" });
    expect((remembered as { ms: number }).ms).toBeLessThan(300);
    udp.conditions = FAIR;
    tcp.conditions = FAIR;
    await page.evaluate(`until("webtransport")`);
    expect(await page.evaluate(`connection.unary(methods.echo, { text: "moved" })`)).toEqual({ text: "moved" });
  });

  it("is back on WebTransport after an outage, over a WebSocket meanwhile or not", { timeout: 60_000 }, async () => {
    const port = await listen(`https://127.0.0.1:${await freePort()}/rpc`);
    await attempt(port);
    await server?.close();
    await page.evaluate(`failed(6)`);
    await listen(`https://127.0.0.1:${port}/rpc`);
    const seen = (await page.evaluate(`until("webtransport")`)) as TransportInUse[];
    expect(seen.filter(({ reason }) => reason?.includes("UDP may be blocked"))).toEqual([]);
    expect(await page.evaluate(`connection.unary(methods.echo, { text: "again" })`)).toEqual({ text: "again" });
  });

  it("is back on WebTransport after nothing has passed for a while, and blames nobody", {
    timeout: 60_000,
  }, async () => {
    const port = await listen("https://127.0.0.1:0/rpc");
    const [udp, tcp] = [await openUdpLink({ target: port }), await openTcpLink({ target: port })];
    onTestFinished(() => {
      udp.close();
      tcp.close();
    });
    const fallback = { url: `wss://127.0.0.1:${tcp.port}/rpc`, retry: { initialMs: 100, maxMs: 1000 } };
    expect(await attempt(udp.port, fallback)).toMatchObject({ kind: "webtransport", text: "through" });
    udp.conditions = BLACKOUT;
    tcp.conditions = BLACKOUT;
    // Calls meanwhile wait, or say what has happened.
    await page.evaluate(`{
      globalThis.calls = Array.from({ length: 6 }, (_, second) => new Promise((resolve) => setTimeout(resolve, second * 1000))
        .then(() => connection.unary(methods.echo, { text: "meanwhile" }, { timeoutMs: 40_000 }))
        .then(({ text }) => text, ({ code }) => code));
    }`);
    // Nothing says so to either side: the session is found to be silent.
    await page.evaluate(`failed(1)`);
    udp.conditions = FAIR;
    tcp.conditions = FAIR;
    const seen = (await page.evaluate(`until("webtransport")`)) as TransportInUse[];
    expect(await page.evaluate(`connection.unary(methods.echo, { text: "again" })`)).toEqual({ text: "again" });
    expect(seen.filter(({ reason }) => reason?.includes("UDP may be blocked"))).toEqual([]);
    const ends = (await page.evaluate(`Promise.all(calls)`)) as string[];
    expect(ends.filter((end) => end !== "meanwhile" && end !== "unavailable")).toEqual([]);
  });
});
