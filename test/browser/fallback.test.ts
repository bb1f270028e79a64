import { createSocket } from "node:dgram";
import { devCertificate, type DevCertificate, serve, type Server } from "@quicrpc/node";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.attempt = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    const since = performance.now();
    const connection = await connect(url, { serverCertificateHashes });
    const ms = performance.now() - since;
    globalThis.connection = connection;
    return { ms, ...connection.transport, ...(await connection.unary(methods.echo, { text: "through" })) };
  };
`;

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
    client = await bundle(CLIENT);
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

  async function listen(url: string, options: { http2?: boolean } = {}): Promise<number> {
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

  function attempt(port: number): Promise<Attempt> {
    return page.evaluate(
      `attempt("https://127.0.0.1:${port}/rpc", ${JSON.stringify([...certificate.hash.value])})`,
    ) as Promise<Attempt>;
  }

  it("takes WebTransport where UDP passes", async () => {
    expect(await attempt(await listen("https://127.0.0.1:0/rpc"))).toMatchObject({
      kind: "webtransport",
      text: "through",
    });
  });

  it("takes a WebSocket within 2 s where UDP disappears", async () => {
    const port = await listen("wss://127.0.0.1:0/rpc");
    // Takes every packet and answers none.
    const blackHole = createSocket("udp4");
    await new Promise<void>((bound) => blackHole.bind(port, "127.0.0.1", bound));
    const { ms, ...seen } = await attempt(port);
    blackHole.close();
    expect(seen).toEqual({
      kind: "websocket",
      reason: "WebTransport did not answer within 1500 ms: UDP may be blocked",
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
    const port = await listen("https://127.0.0.1:0/rpc", { http2: true });
    await page.evaluate(`(async () => {
      await fetch("https://127.0.0.1:${port}/", { mode: "no-cors", credentials: "include" });
      globalThis.WebTransport = undefined;
    })()`);
    expect(await attempt(port)).toMatchObject({ kind: "websocket", text: "through" });
  });

  it("heals when the server is back on its port", async () => {
    const port = await listen("https://127.0.0.1:0/rpc");
    await attempt(port);
    await server?.close();
    await listen(`https://127.0.0.1:${port}/rpc`);
    const again = await page.evaluate(`connection.ready().then(() => connection.transport.kind)`);
    expect(again).toBe("webtransport");
  });
});
