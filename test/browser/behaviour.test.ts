import { devCertificate } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleBehaviours } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import type { Outcome } from "./page/remote.js";
import { RemoteServers } from "./remote-servers.js";

/**
 * Files of behaviours, and how many of their tests a page must pass at least, over each transport. Some skip: they ask Node.
 * Not here: `identity` (pages have no certificates), `leaks` (`memory.test.ts` looks for them), and `kill`, which takes minutes.
 */
const files: readonly { file: string; webtransport: number; websocket: number; ponyfill: number }[] = [
  { file: "admission", webtransport: 5, websocket: 5, ponyfill: 4 },
  { file: "basic", webtransport: 26, websocket: 26, ponyfill: 26 },
  { file: "bytes", webtransport: 14, websocket: 14, ponyfill: 0 },
  { file: "cancellation", webtransport: 26, websocket: 26, ponyfill: 26 },
  { file: "codecs", webtransport: 21, websocket: 21, ponyfill: 1 },
  { file: "compression", webtransport: 18, websocket: 18, ponyfill: 0 },
  { file: "datagrams", webtransport: 3, websocket: 3, ponyfill: 0 },
  { file: "deadlines", webtransport: 16, websocket: 16, ponyfill: 14 },
  { file: "drain", webtransport: 10, websocket: 10, ponyfill: 6 },
  { file: "errors", webtransport: 52, websocket: 52, ponyfill: 52 },
  { file: "extremes", webtransport: 4, websocket: 4, ponyfill: 0 },
  { file: "foreign-streams", webtransport: 3, websocket: 0, ponyfill: 0 },
  { file: "interceptors", webtransport: 16, websocket: 16, ponyfill: 0 },
  { file: "limits", webtransport: 7, websocket: 7, ponyfill: 5 },
  { file: "metadata", webtransport: 49, websocket: 49, ponyfill: 49 },
  { file: "schemas", webtransport: 20, websocket: 20, ponyfill: 0 },
  { file: "sessions", webtransport: 6, websocket: 6, ponyfill: 6 },
  { file: "sizes", webtransport: 8, websocket: 8, ponyfill: 8 },
  { file: "slow-reader", webtransport: 2, websocket: 4, ponyfill: 0 },
  { file: "stream-limit", webtransport: 1, websocket: 0, ponyfill: 0 },
  { file: "typed-errors", webtransport: 22, websocket: 22, ponyfill: 22 },
  { file: "unserved", webtransport: 2, websocket: 2, ponyfill: 0 },
];

describe.skipIf(executablePath === undefined)("behaviours in a page", () => {
  let chromium: Chromium;
  let servers: RemoteServers;

  beforeAll(async () => {
    servers = new RemoteServers(await devCertificate());
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await servers?.stopAll();
  });

  async function run(file: string, lane: "webtransport" | "websocket" | "ponyfill"): Promise<Outcome> {
    const page = await chromium.open();
    try {
      for (const name of ["start", "seen", "release", "session", "stop", "meet"] as const) {
        const call = servers[name].bind(servers) as (...given: unknown[]) => unknown;
        await page.exposeFunction(`remote_${name}`, call);
      }
      await page.reload();
      await page.evaluate(
        `globalThis.lane = ${JSON.stringify(lane)};
         globalThis.remote = { start: remote_start, seen: remote_seen, release: remote_release, session: remote_session, stop: remote_stop, meet: remote_meet };
         ${lane === "websocket" ? "globalThis.WebTransport = undefined;" : ""}`,
      );
      await page.addScriptTag({ content: await bundleBehaviours(file) });
      return await page.evaluate("globalThis.runAll()");
    } finally {
      await page.close();
      await servers.stopAll();
    }
  }

  describe.each(["webtransport", "websocket", "ponyfill"] as const)("%s", (lane) => {
    // Files of which nothing runs over the ponyfill, whose server cannot be in the page.
    it.each(files.filter(({ ponyfill }) => lane !== "ponyfill" || ponyfill > 0))(
      "$file",
      async ({ file, [lane]: least }) => {
        const { passed, failed } = await run(file, lane);
        expect(failed).toEqual([]);
        expect(passed.length).toBeGreaterThanOrEqual(least);
      },
      240_000,
    );
  });
});
