import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BehaviourServer } from "./behaviour-server.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";

/** How a page gets at each scope: the name of its global's class, and an expression for what takes messages. */
const scopes: readonly [string, string][] = [
  ["Window", `(await import("/scope.js"), { postMessage: (data, ports) => postMessage(data, "*", ports) })`],
  ["DedicatedWorkerGlobalScope", `new Worker("/scope.js", { type: "module" })`],
  ["SharedWorkerGlobalScope", `new SharedWorker("/scope.js", { type: "module" }).port`],
  [
    "ServiceWorkerGlobalScope",
    `(await navigator.serviceWorker.register("/scope.js", { type: "module" }), await navigator.serviceWorker.ready).active`,
  ],
];

describe.skipIf(executablePath === undefined)("connect in a scope of the browser", () => {
  let chromium: Chromium;
  let server: BehaviourServer;

  beforeAll(async () => {
    server = await BehaviourServer.start();
    // Workers have no page that could trust a WebSocket's certificate for them.
    chromium = await Chromium.launch({ args: ["--no-sandbox", "--ignore-certificate-errors"] });
    chromium.put("/scope.js", { body: await bundle(`import "./browser/page/scope.js";`) });
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await server?.close();
  });

  describe.each(["webtransport", "websocket"] as const)("%s", (kind) => {
    it.each(scopes)("%s", async (scope, target) => {
      const page = await chromium.open();
      const given = JSON.stringify({ url: server.url, hash: [...server.certificate.hash.value], kind });
      const seen = await page.evaluate(`(async () => {
        const target = ${target};
        const { port1, port2 } = new MessageChannel();
        target.postMessage(${given}, [port2]);
        return await new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
      })()`);
      await page.close();
      expect(seen).toEqual({ scope, kind, text: "hello", items: 4950, states: ["ready", "closed"] });
    });
  });
});
