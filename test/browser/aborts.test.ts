import { devCertificate, serve } from "@quicrpc/node";
import { BLACKOUT, FAIR, openUdpLink } from "@quicrpc/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";

/** Twice the number of resets and stop-sendings for which Chromium ends a connection, where they are not acknowledged. */
const CALLS = 2000;
const LIMITS = { maxCalls: 2 * CALLS, maxStreams: 2 * CALLS };

const CLIENT = `
  import { createStreamSession } from "@quicrpc/core";
  import { methods } from "./behaviour/service.js";
  globalThis.start = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    globalThis.transport = new WebTransport(url, { serverCertificateHashes });
    await transport.ready;
    globalThis.session = createStreamSession(transport, { limits: ${JSON.stringify(LIMITS)} });
  };
  globalThis.wait = (count) => {
    globalThis.leave = new AbortController();
    const { signal } = leave;
    globalThis.calls = Array.from({ length: count }, () => session.unary(methods.wait, { text: "" }, { signal }).catch(({ code }) => code));
  };
  globalThis.giveUp = async () => {
    leave.abort();
    const codes = new Set(await Promise.all(calls));
    // It is there when the browser has done all that was asked of the session before.
    await transport.createBidirectionalStream();
    return [...codes];
  };
  globalThis.echo = async (text) => (await session.unary(methods.echo, { text })).text;
`;

describe.skipIf(executablePath === undefined)("calls of a page that are given up", () => {
  let chromium: Chromium;

  beforeAll(async () => {
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());

  it("keep their session, however many at once, while the network acknowledges none", { timeout: 60_000 }, async () => {
    const { cert, key, hash } = await devCertificate();
    const witness = new Witness();
    const server = await serve({
      listen: ["https://127.0.0.1:0/rpc"],
      tls: { cert, key },
      routers: [behaviourRouter(witness)],
      limits: LIMITS,
    });
    const link = await openUdpLink({ target: server.address.port });
    onTestFinished(async () => {
      link.close();
      await server.close();
    });
    const page = await chromium.open();
    await page.addScriptTag({ content: await bundle(CLIENT) });
    await page.evaluate(`start("https://127.0.0.1:${link.port}/rpc", ${JSON.stringify([...hash.value])})`);
    await page.evaluate(`wait(${CALLS})`);
    const count = (event: string): number => witness.events.filter((seen) => seen.startsWith(event)).length;
    await expect.poll(() => count("wait")).toBe(CALLS);
    link.conditions = BLACKOUT;
    expect(await page.evaluate("giveUp()")).toEqual(["cancelled"]);
    link.conditions = FAIR;
    expect(await page.evaluate(`echo("still here")`)).toBe("still here");
    await expect.poll(() => count("aborted")).toBe(CALLS);
  });
});
