// Errors of calls in a page: each names its method and its peer, and its stack has the line of the page that made the call.
import { devCertificate, type DevCertificate, serve, type Server } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { executablePath } from "./chromium.js";
import { Site } from "./site.js";
import { Tab } from "./tab.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { createClientSession, interceptCaller } from "@quicrpc/core";
  import { methods } from "./behaviour/service.js";
  const read = async function readsTheItems(items) { for await (const _ of items); };
  const calls = {
    unary: async function makesTheCall(caller) { await caller.unary(methods.fail, { code: "not_found", message: "none" }); },
    misfit: async function makesTheCall(caller) { await caller.unary(methods.echo, { text: 1 }); },
    "server stream": (caller) => read(caller.serverStream(methods.items, { n: 1, failWith: "not_found" })),
    "client stream": async function makesTheCall(caller) { await caller.clientStream(methods.sum, ["no number"]); },
    duplex(caller) {
      const { readable, writable } = caller.duplex(methods.chat);
      writable.getWriter().write(1).catch(() => {});
      return read(readable);
    },
    notification: async function makesTheCall(caller) { await caller.notify(methods.note, { text: 1 }); },
  };
  globalThis.start = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    const connection = await connect(url, { serverCertificateHashes, fallback: false });
    globalThis.callers = {
      connection,
      intercepted: interceptCaller(connection, [(call, next) => next(call)]),
      session: createClientSession(new WebTransport(url, { serverCertificateHashes }), { peer: url }),
    };
  };
  globalThis.failureOf = async (caller, kind) => {
    try {
      await calls[kind](callers[caller]);
    } catch ({ code, method, peer, stack }) {
      return { code, method, peer, stack };
    }
  };
`;

describe.skipIf(executablePath === undefined)("an error in a page", () => {
  let site: Site;
  let certificate: DevCertificate;
  let server: Server;
  let tab: Tab;

  beforeAll(async () => {
    certificate = await devCertificate();
    site = await Site.start();
    site.files.set("/client.js", { body: await bundle(CLIENT) });
    site.files.set("/page", { body: "<!doctype html><script src=/client.js></script>", type: "text/html" });
    const { cert, key } = certificate;
    const routers = [behaviourRouter(new Witness())];
    server = await serve({ listen: "https://127.0.0.1:0/rpc", tls: { cert, key }, routers, onError: () => {} });
    tab = await Tab.open(executablePath as string, `${site.origin}/page`);
    await tab.evaluate(
      `new Promise((loaded) => document.readyState === "complete" ? loaded() : addEventListener("load", loaded))`,
    );
    await tab.evaluate(`start("${server.urls[0]}", ${JSON.stringify([...certificate.hash.value])})`);
  }, 60_000);
  afterAll(async () => {
    await tab?.close();
    await server?.close();
    site?.close();
  });

  it.each(
    ["connection", "intercepted", "session"].flatMap((caller) =>
      [
        ["unary", "not_found", "fail", "makesTheCall"],
        ["misfit", "invalid_argument", "echo", "makesTheCall"],
        ["server stream", "not_found", "items", "readsTheItems"],
        ["client stream", "invalid_argument", "sum", "makesTheCall"],
        ["duplex", "invalid_argument", "chat", "readsTheItems"],
        ["notification", "invalid_argument", "note", "makesTheCall"],
      ].map((expected) => [caller, ...expected] as const),
    ),
  )("of a %s, %s", async (caller, kind, code, method, line) => {
    const found = await tab.evaluate(`failureOf("${caller}", "${kind}")`);
    const stack = expect.stringContaining(line) as string;
    expect(found).toMatchObject({ code, method: `test.v1.Behaviour/${method}`, peer: server.urls[0], stack });
  });
});
