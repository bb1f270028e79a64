import { devCertificate, type DevCertificate, type Server } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import { type Proven, serveProofs } from "./proving-server.js";

describe.skipIf(executablePath === undefined)("a page proves its key", () => {
  let chromium: Chromium;
  let certificate: DevCertificate;
  let server: Server;

  beforeAll(async () => {
    certificate = await devCertificate();
    server = await serveProofs(certificate);
    chromium = await Chromium.launch();
    chromium.put("/proof.js", { body: await bundle(`import "./browser/page/proof.js";`) });
    chromium.put("/proof", { body: "<!doctype html><script src=/proof.js></script>", type: "text/html" });
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await server?.close();
  });

  it("over WebTransport and WebSocket, with the key that its browser keeps", async () => {
    const page = await chromium.open("/proof");
    const hash = JSON.stringify([...certificate.hash.value]);
    const web = server.urls[0] as string;
    const names = new Set<string>();
    for (const [url, way] of [
      [web, "connect"],
      [web, "connectWebTransport"],
      [web.replace("https:", "wss:"), "connect"],
    ]) {
      const seen = (await page.evaluate(`prove("${url}", ${hash}, "${way}")`)) as Proven;
      const { thumbprint, exports } = seen;
      expect(seen.found).toEqual(["a token", { thumbprint, algorithm: "ES256", bound: exports, audience: url }]);
      expect(seen.extractable).toBe(false);
      names.add(thumbprint);
      await page.reload();
    }
    expect(names.size).toBe(1);
    await page.close();
  });
});
