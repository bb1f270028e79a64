import { createSocket } from "node:dgram";
import { failsTransport } from "@quicrpc/fails-components";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.mjs";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { ponyfillTransport } from "@quicrpc/fails-components/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.asked = [];
  globalThis.WebTransport = new Proxy(WebTransport, {
    construct: (target, given) => {
      asked.push(new URL(given[0]).hostname);
      return new target(...given);
    },
  });
  globalThis.attempt = async (url, native) => {
    const transport = ponyfillTransport();
    const connection = await connect(url, native ? { fallback: { transport } } : { transport, fallback: false });
    const text = "x".repeat(3_000_000);
    const answer = await connection.unary(methods.echo, { text });
    const inUse = connection.transport;
    await connection.close();
    return { ...inUse, echoed: answer.text === text, asked };
  };
`;

describe.skipIf(executablePath === undefined)("the ponyfill in a page", () => {
  let chromium: Chromium;
  let client: string;
  let server: Server;

  beforeAll(async () => {
    client = await bundle(CLIENT);
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());
  afterEach(() => server?.close());

  async function attempt(native: boolean, prepare?: (port: number) => Promise<void>): Promise<unknown> {
    const { cert, key } = await devCertificate();
    const routers = [behaviourRouter(new Witness())];
    // Over TCP alone.
    const over = { advanced: { transports: [failsTransport()] } };
    server = await serve({
      listen: [`https://127.0.0.1:${await freePort()}/rpc`],
      ...over,
      tls: { cert, key },
      routers,
    });
    const { port } = server.address;
    await prepare?.(port);
    const page = await chromium.open();
    try {
      await page.addScriptTag({ content: client });
      return await page.evaluate(`attempt("https://127.0.0.1:${port}/rpc?a=b", ${native})`);
    } finally {
      await page.close();
    }
  }

  it("connects by itself, and the package to no stranger", async () => {
    expect(await attempt(false)).toEqual({ kind: "ponyfill", echoed: true, asked: [] });
  });

  it("takes WebTransport's place where UDP disappears", async () => {
    const blackHole = createSocket("udp4");
    const seen = await attempt(true, (port) => new Promise((bound) => void blackHole.bind(port, "127.0.0.1", bound)));
    blackHole.close();
    expect(seen).toEqual({
      kind: "ponyfill",
      reason: "WebTransport did not answer within 1500 ms: UDP may be blocked",
      retryAt: expect.any(Number),
      echoed: true,
      asked: ["127.0.0.1"],
    });
  });
});
