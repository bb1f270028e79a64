import { isDeepStrictEqual } from "node:util";
import type { CDPSession } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BehaviourServer } from "./behaviour-server.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import "./shown.js";

const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.start = async (url, hash) => {
    const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
    globalThis.connection = await connect(url, { serverCertificateHashes });
  };
  globalThis.work = async (calls, streams) => {
    for (let made = 0; made < calls; made += 100) {
      const batch = Array.from({ length: 100 }, (_, i) => connection.unary(methods.echo, { text: "call " + i }));
      await Promise.all(batch);
    }
    for (let made = 0; made < streams; made += 10) {
      await Promise.all(Array.from({ length: 10 }, async () => {
        let items = 0;
        for await (const _ of connection.serverStream(methods.items, { n: 5 })) items++;
        if (items !== 5) throw new Error("a stream had " + items + " items");
      }));
    }
  };
`;

/** Kinds of objects that calls and streams are made of. */
const KINDS = ["Promise", "Error", "Map", "Set", "Uint8Array", "AbortController", "ReadableStream", "WritableStream"];

/** Bytes that the code itself may take when it is compiled anew: less than 20 for each call. */
const MOST_GROWTH = 200_000;

describe.skipIf(executablePath === undefined)("memory of a page", () => {
  let chromium: Chromium;
  let client: string;
  let server: BehaviourServer;

  beforeAll(async () => {
    server = await BehaviourServer.start();
    client = await bundle(CLIENT);
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await server?.close();
  });

  it.for(["webtransport", "websocket"] as const)(
    "10,000 calls and 1,000 streams leave nothing: %s",
    { timeout: 60_000 },
    async (kind, { task }) => {
      const page = await chromium.open();
      if (kind === "websocket") await page.evaluate("globalThis.WebTransport = undefined");
      await page.addScriptTag({ content: client });
      await page.evaluate(`start("${server.url}", ${JSON.stringify([...server.certificate.hash.value])})`);
      expect(await page.evaluate("connection.transport.kind")).toBe(kind);
      const devtools = await page.context().newCDPSession(page);
      // What is made once, and the code as it is compiled when it is used often.
      await page.evaluate("work(2000, 200)");
      const before = await settled(devtools);
      await page.evaluate("work(10_000, 1000)");
      const after = await settled(devtools);
      await page.close();
      expect(after.counts).toEqual(before.counts);
      expect(after.bytes - before.bytes).toBeLessThan(MOST_GROWTH);
      task.meta.shownInPage = { lane: kind, passed: ["C66 calls and streams leave nothing"], skipped: [], failed: [] };
    },
  );
});

interface Live {
  readonly counts: Readonly<Record<string, number>>;
  readonly bytes: number;
}

/** Counts a page's objects once their number no longer changes: the browser ends its streams in tasks of their own. */
async function settled(devtools: CDPSession): Promise<Live> {
  let last = await live(devtools);
  for (;;) {
    const now = await live(devtools);
    if (isDeepStrictEqual(now.counts, last.counts)) return now;
    last = now;
  }
}

/** Counts a page's objects once everything is collected that can be. */
async function live(devtools: CDPSession): Promise<Live> {
  await devtools.send("HeapProfiler.collectGarbage");
  const counts: Record<string, number> = {};
  for (const kind of KINDS) {
    const { result } = await devtools.send("Runtime.evaluate", {
      expression: `${kind}.prototype`,
      objectGroup: "live",
    });
    const prototypeObjectId = result.objectId as string;
    const { objects } = await devtools.send("Runtime.queryObjects", { prototypeObjectId, objectGroup: "live" });
    const { result: length } = await devtools.send("Runtime.callFunctionOn", {
      objectId: objects.objectId as string,
      functionDeclaration: "function () { return this.length; }",
    });
    counts[kind] = length.value as number;
  }
  await devtools.send("Runtime.releaseObjectGroup", { objectGroup: "live" });
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return { counts, bytes: usedSize };
}
