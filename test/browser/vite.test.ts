// The three lines of a page with @quicrpc/vite, in a browser, from Vite's dev server.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { createHealth } from "@quicrpc/services";
import type { ViteDevServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";
import { startVite, urlOf } from "./vite-server.js";

const cache = fileURLToPath(new URL("../.cache", import.meta.url));

describe.skipIf(executablePath === undefined)("a page of Vite's dev server", () => {
  let chromium: Chromium;
  let server: Server;
  let vite: ViteDevServer;
  let root: string;

  beforeAll(async () => {
    mkdirSync(cache, { recursive: true });
    root = mkdtempSync(join(cache, "vite-"));
    const certificate = { directory: join(root, "certificate") };
    const tls = await devCertificate(certificate);
    server = await serve({ listen: ["https://127.0.0.1:0/rpc"], tls, routers: [createHealth({}).router] });
    writeFileSync(join(root, "package.json"), '{ "name": "demo", "type": "module" }');
    writeFileSync(join(root, "index.html"), '<!doctype html><script type="module" src="/main.ts"></script>');
    writeFileSync(
      join(root, "main.ts"),
      `import { connect } from "@quicrpc/browser";
       import { createHealthClient } from "@quicrpc/services";
       import { serverCertificateHashes } from "virtual:quicrpc";
       const connection = await connect("${server.urls[0]}", { serverCertificateHashes });
       const { status } = await createHealthClient(connection).check({ service: "" });
       document.title = connection.transport.kind + " " + status;`,
    );
    vite = await startVite(root, { certificate, generate: false });
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await vite?.close();
    await server?.close();
    rmSync(root, { recursive: true, force: true });
  });

  it("connects over WebTransport, by the development certificate", async () => {
    const page = await chromium.browser.newPage();
    await page.goto(urlOf(vite));
    await page.waitForFunction('document.title !== ""');
    expect(await page.title()).toBe("webtransport serving");
    await page.close();
  });
});
