import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../packages/quic/test/chromium.js";
import { BehaviourServer } from "./behaviour-server.js";
import { bundle } from "./bundle.js";
import { executablePath } from "./chromium.js";
import { Site } from "./site.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.attempt = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    try {
      const connection = await connect(url, { serverCertificateHashes, timeoutMs: 3000 });
      const { text } = await connection.unary(methods.echo, { text: "through" });
      await connection.close();
      return text;
    } catch ({ code }) {
      return code;
    }
  };
`;

describe.skipIf(executablePath === undefined)(
  "a page of the internet and a server on this machine (Local Network Access)",
  () => {
    let server: BehaviourServer;
    let site: Site;
    let browser: Browser;

    beforeAll(async () => {
      server = await BehaviourServer.start();
      site = await Site.start();
      site.files.set("/client.js", { body: await bundle(CLIENT) });
      site.files.set("/page", { body: "<!doctype html><script src=/client.js></script>", type: "text/html" });
      const { host } = new URL(site.origin);
      const checks = ["", "WebSockets", "WebTransport"].map((of) => `LocalNetworkAccessChecks${of}`);
      const args = [
        "--no-sandbox",
        `--ip-address-space-overrides=${host}=public`,
        `--unsafely-treat-insecure-origin-as-secure=${site.origin}`,
        `--enable-features=${checks.join()}`,
      ];
      browser = await launchChromium(executablePath as string, { args });
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      site?.close();
      await server?.close();
    });

    it.each([
      ["are refused to each other where the user does not allow it", [], "ERR_UNREACHABLE"],
      ["meet where the user allows it", ["local-network-access"], "through"],
    ])("%s", async (_, permissions, expected) => {
      const context = await browser.newContext();
      await context.grantPermissions(permissions, { origin: site.origin });
      const page = await context.newPage();
      await page.goto(`${site.origin}/page`);
      const given = [server.url, [...server.certificate.hash.value]].map((one) => JSON.stringify(one));
      expect(await page.evaluate(`attempt(${given.join()})`)).toBe(expected);
      await context.close();
    });
  },
);
