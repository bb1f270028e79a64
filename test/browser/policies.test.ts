import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BehaviourServer } from "./behaviour-server.js";
import { type Browser, BROWSERS } from "./browsers.js";
import { bundle } from "./bundle.js";
import { Site } from "./site.js";

const CLIENT = `
  import { connect, connectWebTransport } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.attempt = async (url, hash, how) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    try {
      const connection = how === "alone"
        ? await connectWebTransport(url, { serverCertificateHashes })
        : await connect(url, { serverCertificateHashes });
      const { text } = await connection.unary(methods.echo, { text: "through" });
      await connection.close();
      return { kind: connection.transport.kind, text, isolated: globalThis.crossOriginIsolated };
    } catch ({ code, message }) {
      return { code, message };
    }
  };
`;

describe.each(BROWSERS)("the policies of a page in %s", (_, path, launch) => {
  describe.skipIf(path === undefined)("let connect", () => {
    let server: BehaviourServer;
    let site: Site;
    let browser: Browser;
    let host: string;

    beforeAll(async () => {
      server = await BehaviourServer.start();
      ({ host } = new URL(server.url));
      site = await Site.start();
      const headers = { "cross-origin-resource-policy": "same-origin" };
      site.files.set("/client.js", { body: await bundle(CLIENT), headers });
      browser = await launch(path as string);
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      site?.close();
      await server?.close();
    });

    async function attempt(headers: Record<string, string>, how = "usual"): Promise<unknown> {
      site.files.set("/page", { body: "<!doctype html><script src=/client.js></script>", type: "text/html", headers });
      const page = await browser.open(`${site.origin}/page`);
      const given = [server.url, [...server.certificate.hash.value], how].map((one) => JSON.stringify(one));
      const seen = await page.evaluate(`attempt(${given.join()})`);
      await page.close();
      return seen;
    }

    it("reject at once where neither transport is allowed, with the reason", async () => {
      const lacks = (scheme: string): string =>
        `failed: the page's Content Security Policy lacks connect-src ${scheme}//${host}`;
      expect(await attempt({ "content-security-policy": "connect-src 'self'" })).toEqual({
        code: "ERR_FORBIDDEN",
        message: `cannot connect to ${server.url}: WebTransport ${lacks("https:")}; WebSocket ${lacks("wss:")}`,
      });
    });

    it("over WebTransport alone too", async () => {
      expect(await attempt({ "content-security-policy": "connect-src 'self'" }, "alone")).toEqual({
        code: "ERR_FORBIDDEN",
        message: `cannot connect to ${server.url}: WebTransport failed: the page's Content Security Policy lacks connect-src https://${host}`,
      });
    });

    it.each([
      ["WebTransport is allowed and the fallback is not", { "content-security-policy": `connect-src https://HOST` }],
      ["the policy would forbid it, and only reports", { "content-security-policy-report-only": "connect-src 'self'" }],
    ])("through where %s", async (_, headers) => {
      const named = Object.entries(headers).map(([name, value]) => [name, value.replace("HOST", host)]);
      expect(await attempt(Object.fromEntries(named) as Record<string, string>)).toMatchObject({
        kind: "webtransport",
        text: "through",
      });
    });

    it.each(["require-corp", "credentialless"])("through in a page of its own process, %s", async (embedder) => {
      const headers = {
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": embedder,
      };
      const through = { kind: "webtransport", text: "through", isolated: true };
      expect(await attempt(headers)).toEqual(through);
    });
  });
});
