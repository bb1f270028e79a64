import { createSocket } from "node:dgram";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { devCertificate, type DevCertificate, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { BLACKOUT, FAIR, openTcpLink, openUdpLink } from "@quicrpc/testing";
import { freePort } from "../../scripts/free-port.mjs";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle, bundleShipped } from "./bundle.js";
import { Firefox, firefoxPath, type FirefoxTab } from "./firefox.js";
import { type Proven, serveProofs } from "./proving-server.js";
import { Site } from "./site.js";
import { WhiteboardServer } from "./whiteboard-server.js";

/** Pages of the folder `test/size`. */
const SHIPPED = ["one-session", "streams-bare", "web-transport", "fallback"] as const;

describe.skipIf(firefoxPath === undefined)("connect in Firefox", () => {
  let firefox: Firefox;
  let site: Site;
  let certificate: DevCertificate;
  let tabs: FirefoxTab[] = [];
  let server: Server | undefined;
  let witness: Witness;

  beforeAll(async () => {
    certificate = await devCertificate();
    site = await Site.start();
    site.files.set("/scope.js", { body: await bundle(`import "./browser/page/scope.js";`) });
    site.files.set("/client.js", { body: await bundle(`import "./browser/page/client.js";`) });
    site.files.set("/proof.js", { body: await bundle(`import "./browser/page/proof.js";`) });
    site.files.set("/proof", { body: "<!doctype html><script src=/proof.js></script>", type: "text/html" });
    for (const name of SHIPPED) site.files.set(`/${name}.js`, { body: await bundleShipped(`${name}.ts`) });
    site.files.set("/page", { body: "<!doctype html><script src=/scope.js></script>", type: "text/html" });
    site.files.set("/client", { body: "<!doctype html><script src=/client.js></script>", type: "text/html" });
    firefox = await Firefox.launch(firefoxPath as string);
  }, 60_000);
  afterAll(async () => {
    await firefox?.close();
    site?.close();
  });
  afterEach(async () => {
    await Promise.all(tabs.map((tab) => tab.close()));
    tabs = [];
    await server?.close();
    server = undefined;
  });

  async function open(url: string): Promise<FirefoxTab> {
    const tab = await firefox.open(url);
    tabs.push(tab);
    return tab;
  }

  async function listen(url: string, options: Partial<ServeOptions> = {}): Promise<number> {
    const { cert, key } = certificate;
    witness = new Witness();
    const routers = [behaviourRouter(witness)];
    server = await serve({ ...options, listen: [url], webSocket: true, tls: { cert, key }, routers });
    return server.address.port;
  }

  async function attempt(port: number, fallback: object = {}): Promise<[FirefoxTab, unknown]> {
    const tab = await open(`${site.origin}/client`);
    const hash = JSON.stringify([...certificate.hash.value]);
    const url = `https://127.0.0.1:${port}/rpc`;
    return [tab, await tab.evaluate(`attempt("${url}", ${hash}, ${JSON.stringify(fallback)})`)];
  }

  it.each([
    ["Window", "webtransport", `{ postMessage: (data, ports) => postMessage(data, "*", ports) }`],
    ["Window", "websocket", `{ postMessage: (data, ports) => postMessage(data, "*", ports) }`],
    ["DedicatedWorkerGlobalScope", "webtransport", `new Worker("/scope.js")`],
    ["SharedWorkerGlobalScope", "webtransport", `new SharedWorker("/scope.js").port`],
  ])("%s, %s", async (scope, kind, target) => {
    await listen("https://127.0.0.1:0/rpc");
    const tab = await open(`${site.origin}/page`);
    const given = JSON.stringify({ url: server?.urls[0], hash: [...certificate.hash.value], kind });
    const seen = await tab.evaluate(`new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      (${target}).postMessage(${given}, [port2]);
    })`);
    expect(seen).toEqual({ scope, kind, text: "hello", items: 4950, states: ["ready", "closed"] });
  });

  it("proves its key, bound to the connection where Firefox shows keying material", async () => {
    server = await serveProofs(certificate);
    const tab = await open(`${site.origin}/proof`);
    const url = server.urls[0] as string;
    const hash = JSON.stringify([...certificate.hash.value]);
    const seen = (await tab.evaluate(`prove("${url}", ${hash}, "connect")`)) as Proven;
    const { thumbprint, exports } = seen;
    expect(seen.found).toEqual(["a token", { thumbprint, algorithm: "ES256", bound: exports, audience: url }]);
  });

  it("tells the server that a stream was left, and has an early answer of a client stream", async () => {
    const [tab] = await attempt(await listen("https://127.0.0.1:0/rpc"));
    await tab.evaluate(`(async () => {
      for await (const _ of connection.serverStream(methods.items, { n: 3, open: true })) break;
    })()`);
    await witness.until("left 3");
    const endless = `new ReadableStream({ pull: async (out) => { await new Promise(requestAnimationFrame); out.enqueue(-1); } })`;
    expect(await tab.evaluate(`connection.clientStream(methods.sum, ${endless})`)).toBe(-1);
  });

  it("takes a WebSocket within 2 s where UDP disappears", async () => {
    const port = await listen(`wss://127.0.0.1:${await freePort()}/rpc`);
    const blackHole = createSocket("udp4");
    await new Promise<void>((bound) => blackHole.bind(port, "127.0.0.1", bound));
    const [, seen] = await attempt(port);
    blackHole.close();
    expect(seen).toMatchObject({ kind: "websocket", text: "through", retryAt: expect.any(Number) });
    expect((seen as { ms: number }).ms).toBeLessThan(2000);
  });

  it("moves over to WebTransport when UDP passes again", async () => {
    const port = await listen("https://127.0.0.1:0/rpc");
    const relay = await openUdpLink({ target: port });
    relay.conditions = BLACKOUT;
    const fallback = { url: `wss://127.0.0.1:${port}/rpc`, retry: { initialMs: 100, maxMs: 1000 } };
    const [tab, seen] = await attempt(relay.port, fallback);
    expect(seen).toMatchObject({ kind: "websocket", text: "through" });
    relay.conditions = FAIR;
    await tab.evaluate(`until("webtransport")`);
    expect(await tab.evaluate(`connection.unary(methods.echo, { text: "moved" })`)).toEqual({ text: "moved" });
    relay.close();
  });

  it("calls over HTTP where neither UDP nor WebSockets pass, remembers that, and goes back when they do", async () => {
    const routers = [behaviourRouter(new Witness())];
    const handler = createFetchHandler({ routers, prefix: "/rpc", allowedOrigins: [site.origin] });
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
    const [, seen] = await attempt(udp.port, fallback);
    expect(seen).toMatchObject({
      kind: "http",
      reason: expect.stringMatching(
        /^WebTransport did not answer within 300 ms: UDP may be blocked; WebSocket did not answer/,
      ),
      text: "through",
    });
    const [other, remembered] = await attempt(udp.port, fallback);
    expect(remembered).toMatchObject({ kind: "http", text: "through" });
    expect((remembered as { ms: number }).ms).toBeLessThan(300);
    udp.conditions = FAIR;
    tcp.conditions = FAIR;
    await other.evaluate(`until("webtransport")`);
    expect(await other.evaluate(`connection.unary(methods.echo, { text: "moved" })`)).toEqual({ text: "moved" });
  });

  it("heals when the server is back on its port", async () => {
    const port = await listen(`https://127.0.0.1:${await freePort()}/rpc`);
    const [tab] = await attempt(port);
    await server?.close();
    await listen(`https://127.0.0.1:${port}/rpc`);
    expect(await tab.evaluate(`connection.unary(methods.echo, { text: "again" })`)).toEqual({ text: "again" });
  });

  it("ends its session when the page is left, and connects when it is loaded again", async () => {
    const port = await listen("https://127.0.0.1:0/rpc");
    const [tab] = await attempt(port);
    const [left] = server?.sessions ?? [];
    await tab.go(`${site.origin}/elsewhere`);
    expect(await left?.closed).toMatchObject({ closeCode: 0, reason: "the page was left" });
    await tab.back();
    await expect.poll(() => tab.evaluate("typeof globalThis.attempt")).toBe("function");
    const given = `"https://127.0.0.1:${port}/rpc", ${JSON.stringify([...certificate.hash.value])}`;
    expect(await tab.evaluate(`attempt(${given})`)).toMatchObject({ kind: "webtransport", text: "through" });
  });

  it.each(SHIPPED)("runs the minified bundle whose size is told: %s", async (name) => {
    const port = await listen("https://127.0.0.1:0/rpc");
    const tab = await open(`${site.origin}/page`);
    const hash = JSON.stringify([...certificate.hash.value]);
    await tab.run(`{
      const Native = WebTransport;
      globalThis.WebTransport = class extends Native {
        constructor() {
          const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(${hash}) }];
          super("https://127.0.0.1:${port}/rpc", { serverCertificateHashes });
        }
      };
    }`);
    // The server has another service: that its answer is told shows that all of the client runs.
    await expect(tab.evaluate(`import("/${name}.js").then(({ done }) => done)`)).rejects.toThrow(
      "no service demo.v1.Arith is served here",
    );
  });

  it("shows one's drawing to the other on the whiteboard", async () => {
    const board = await WhiteboardServer.start();
    const [ada, grace] = [await open(board.url), await open(board.url)];
    for (const tab of [ada, grace]) {
      await expect.poll(() => tab.evaluate(`document.getElementById("transport").textContent`)).toBe("WebTransport");
    }
    await ada.evaluate(`(() => {
      const canvas = document.getElementById("canvas");
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const tell = (type, t) => canvas.dispatchEvent(new PointerEvent(type, {
        bubbles: true, pointerId: 1, isPrimary: true, button: 0, buttons: 1, clientX: left + width * t, clientY: top + height / 2,
      }));
      canvas.setPointerCapture = () => {};
      tell("pointerdown", 0.1);
      for (let step = 1; step < 20; step++) tell("pointermove", 0.1 + step / 25);
      tell("pointerup", 0.9);
    })()`);
    const inked = `(() => {
      const canvas = document.getElementById("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, canvas.height / 2 - 4, canvas.width, 8);
      return data.some((value, at) => at % 4 === 3 && value > 0);
    })()`;
    for (const tab of [ada, grace]) await expect.poll(() => tab.evaluate(inked)).toBe(true);
    await board.remove();
  });
});
