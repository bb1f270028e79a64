import { devCertificate, type DevCertificate, serve, type Server } from "@quicrpc/node";
import type { Session } from "@quicrpc/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BLACKOUT, FAIR, type Link, openUdpLink } from "@quicrpc/testing";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { executablePath } from "./chromium.js";
import { Site } from "./site.js";
import { Tab } from "./tab.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.states = [];
  globalThis.frozen = 0;
  document.addEventListener("freeze", () => void frozen++);
  addEventListener("pageshow", ({ persisted }) => persisted && connection.notify(methods.note, { text: "back from the cache" }));
  globalThis.start = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    globalThis.connection = await connect(url, { serverCertificateHashes, fallback: false });
    (async () => {
      for await (const { status } of connection.states()) if (states.at(-1) !== status) states.push(status);
    })();
    return echo("first");
  };
  /** Ends sessions in the middle of calls on streams of their own, so many at once, each at another time. */
  globalThis.endInTheMiddle = async (url, hash, round) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    const via = "stream";
    await Promise.all(Array.from({ length: 4 }, async (_, at) => {
      const connection = await connect(url, { serverCertificateHashes, fallback: false, reconnect: false });
      const read = async (items) => { for await (const _ of items); };
      const chat = connection.duplex(methods.chat, { via });
      const calls = [
        connection.unary(methods.echo, { text: "a" }, { via }),
        read(connection.serverStream(methods.items, { n: 3, open: true }, { via })),
        connection.clientStream(methods.sum, new ReadableStream({ start: (items) => items.enqueue(-1) }), { via }),
        read(chat.readable),
      ];
      await new Promise((resolve) => setTimeout(resolve, (round * 4 + at) % 25));
      await connection.close();
      await Promise.allSettled(calls);
    }));
  };
  globalThis.until = async (wanted) => {
    for await (const { status } of connection.states()) if (status === wanted) return;
  };
  globalThis.echo = async (text) => (await connection.unary(methods.echo, { text })).text;
`;

describe.skipIf(executablePath === undefined)("a page's life", () => {
  let site: Site;
  let certificate: DevCertificate;
  let server: Server;
  let relay: Link;
  let tab: Tab;
  let sessions: Session[];
  let witness: Witness;

  beforeAll(async () => {
    certificate = await devCertificate();
    site = await Site.start();
    site.files.set("/client.js", { body: await bundle(CLIENT) });
    site.files.set("/page", { body: "<!doctype html><script src=/client.js></script>", type: "text/html" });
  }, 60_000);
  afterAll(() => site?.close());

  beforeEach(async () => {
    const { cert, key } = certificate;
    sessions = [];
    witness = new Witness();
    server = await serve({
      listen: ["https://127.0.0.1:0/rpc"],
      tls: { cert, key },
      routers: [behaviourRouter(witness)],
      advanced: { onSession: (session) => void sessions.push(session) },
    });
    relay = await openUdpLink({ target: server.address.port });
    tab = await Tab.open(executablePath as string, `${site.origin}/page`);
    await tab.evaluate(
      `new Promise((loaded) => document.readyState === "complete" ? loaded() : addEventListener("load", loaded))`,
    );
    const hash = JSON.stringify([...certificate.hash.value]);
    await tab.evaluate(`start("https://127.0.0.1:${relay.port}/rpc", ${hash})`);
  });
  afterEach(async () => {
    await tab.close();
    relay.close();
    await server.close();
  });

  const offline = (offline: boolean): Promise<unknown> =>
    tab.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });

  it("goes on over the same session where the network comes back in time", async () => {
    relay.conditions = BLACKOUT;
    await offline(true);
    const waiting = tab.evaluate(`echo("meanwhile")`);
    relay.conditions = FAIR;
    await offline(false);
    expect(await waiting).toBe("meanwhile");
    expect(await tab.evaluate("states")).toEqual(["ready"]);
    expect(sessions).toHaveLength(1);
  });

  it("finds a dead session when it goes offline, and is back with the network", async () => {
    relay.conditions = BLACKOUT;
    await offline(true);
    await tab.evaluate(`until("connecting")`);
    const waiting = tab.evaluate(`echo("waiting")`);
    relay.conditions = FAIR;
    await offline(false);
    expect(await waiting).toBe("waiting");
    expect(await tab.evaluate("states")).toEqual(["ready", "connecting", "ready"]);
    expect(sessions).toHaveLength(2);
  });

  it("ends its session when it is left, and has another when it comes back from the cache", async () => {
    await tab.send("Page.navigate", { url: `${site.origin}/elsewhere` });
    expect(await sessions[0]?.closed).toEqual({ closeCode: 0, reason: "the page was left", error: undefined });
    await tab.evaluate("history.back()");
    await witness.until("note back from the cache");
    expect(sessions).toHaveLength(2);
  });

  it("calls as before while it is hidden, and finds its session alive", async () => {
    await tab.hide();
    await tab.evaluate(`void dispatchEvent(new Event("online"))`);
    const tick = `new Promise((resolve) => setTimeout(resolve))`;
    expect(await tab.evaluate(`echo("hidden").then((text) => ${tick}.then(() => echo(text)))`)).toBe("hidden");
    await tab.evaluate(`connection.session.ping()`);
    await tab.wake();
    expect(await tab.evaluate("states")).toEqual(["ready"]);
    expect(sessions).toHaveLength(1);
  });

  it("survives that it ends sessions in the middle of calls on streams", { timeout: 60_000 }, async () => {
    const given = `"${server.urls[0]}", ${JSON.stringify([...certificate.hash.value])}`;
    for (let round = 0; round < 30; round++) await tab.evaluate(`endInTheMiddle(${given}, ${round})`);
    expect(await tab.evaluate(`echo("still here")`)).toBe("still here");
  });

  it("heals after a sleep in which its session was lost", async () => {
    await tab.sleep();
    await sessions[0]?.close({ closeCode: 9, reason: "the server restarts" });
    await tab.wake();
    expect(await tab.evaluate(`echo("awake")`)).toBe("awake");
    expect(await tab.evaluate("frozen")).toBe(1);
    expect(await tab.evaluate("states")).toEqual(["ready", "connecting", "ready"]);
  });
});
