import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BehaviourServer } from "./behaviour-server.js";
import { bundle } from "./bundle.js";
import { Firefox, firefoxPath } from "./firefox.js";
import { Site } from "./site.js";

describe.skipIf(firefoxPath === undefined)("connect in Firefox", () => {
  let firefox: Firefox;
  let site: Site;
  let server: BehaviourServer;

  beforeAll(async () => {
    server = await BehaviourServer.start();
    site = await Site.start();
    site.files.set("/scope.js", { body: await bundle(`import "./browser/page/scope.js";`) });
    site.files.set("/page", { body: "<!doctype html><script src=/scope.js></script>", type: "text/html" });
    firefox = await Firefox.launch(firefoxPath as string);
  }, 60_000);
  afterAll(async () => {
    await firefox?.close();
    site?.close();
    await server?.close();
  });

  it.each([
    ["Window", "webtransport", `{ postMessage: (data, ports) => postMessage(data, "*", ports) }`],
    ["Window", "websocket", `{ postMessage: (data, ports) => postMessage(data, "*", ports) }`],
    ["DedicatedWorkerGlobalScope", "webtransport", `new Worker("/scope.js")`],
  ])("%s, %s", async (scope, kind, target) => {
    await firefox.open(`${site.origin}/page`);
    const given = JSON.stringify({ url: server.url, hash: [...server.certificate.hash.value], kind });
    const seen = await firefox.evaluate(`new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      (${target}).postMessage(${given}, [port2]);
    })`);
    expect(seen).toEqual({ scope, kind, text: "hello", items: 4950, states: ["ready", "closed"] });
  });
});
