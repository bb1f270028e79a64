import { devCertificate } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleBehaviours } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import type { Lane, Outcome } from "./page/remote.js";
import { RemoteServers } from "./remote-servers.js";
import "./shown.js";

/**
 * Files of behaviours, and how many of their tests a page must pass at least, over each transport, by the
 * smaller client and by sessions of streams where these have what they need, and by the ponyfill, whose server cannot be in the page. Some skip: they ask Node.
 * Not here: `identity` (pages have no certificates), `leaks` (`memory.test.ts` looks for them), and raw peers (`page/lanes.ts`).
 */
const files: readonly ({ readonly file: string } & Readonly<Partial<Record<Lane, number>>>)[] = [
  { file: "admission", webtransport: 5, websocket: 5, connectWebTransport: 5, ponyfill: 4 },
  { file: "basic", webtransport: 26, websocket: 26, connectWebTransport: 24, ponyfill: 26, createStreamSession: 24 },
  { file: "bytes", webtransport: 14, websocket: 14, connectWebTransport: 14, ponyfill: 0, createStreamSession: 14 },
  {
    file: "cancellation",
    webtransport: 26,
    websocket: 26,
    connectWebTransport: 26,
    ponyfill: 26,
    createStreamSession: 26,
  },
  { file: "codecs", webtransport: 21, websocket: 21, ponyfill: 1 },
  { file: "compression", webtransport: 18, websocket: 18, connectWebTransport: 0, ponyfill: 0 },
  { file: "datagrams", webtransport: 3, websocket: 3, connectWebTransport: 2, ponyfill: 0, createStreamSession: 2 },
  {
    file: "deadlines",
    webtransport: 16,
    websocket: 16,
    connectWebTransport: 14,
    ponyfill: 14,
    createStreamSession: 14,
  },
  { file: "drain", webtransport: 10, websocket: 10, connectWebTransport: 8, ponyfill: 6 },
  { file: "errors", webtransport: 52, websocket: 52, connectWebTransport: 52, ponyfill: 52, createStreamSession: 52 },
  { file: "extremes", webtransport: 4, websocket: 4, connectWebTransport: 4, ponyfill: 0, createStreamSession: 4 },
  { file: "foreign-streams", webtransport: 3, websocket: 0, connectWebTransport: 1, ponyfill: 0 },
  { file: "interceptors", webtransport: 16, websocket: 16, connectWebTransport: 16, ponyfill: 0 },
  { file: "kill", webtransport: 8, websocket: 16, ponyfill: 0 },
  { file: "limits", webtransport: 7, websocket: 7, connectWebTransport: 7, ponyfill: 5, createStreamSession: 8 },
  { file: "metadata", webtransport: 49, websocket: 49, connectWebTransport: 49, ponyfill: 49, createStreamSession: 49 },
  { file: "schemas", webtransport: 20, websocket: 20, connectWebTransport: 20, ponyfill: 0 },
  { file: "sessions", webtransport: 6, websocket: 6, connectWebTransport: 6, ponyfill: 6 },
  { file: "sizes", webtransport: 8, websocket: 8, connectWebTransport: 8, ponyfill: 8 },
  { file: "slow-reader", webtransport: 2, websocket: 4, connectWebTransport: 2, ponyfill: 0 },
  { file: "stream-limit", webtransport: 1, websocket: 0, connectWebTransport: 1, ponyfill: 0, createStreamSession: 1 },
  {
    file: "typed-errors",
    webtransport: 22,
    websocket: 22,
    connectWebTransport: 22,
    ponyfill: 22,
    createStreamSession: 22,
  },
  { file: "unserved", webtransport: 2, websocket: 2, connectWebTransport: 2, ponyfill: 0 },
];

const MAX_CRASHES = 4;

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

  /** Runs a file in a page; again, where the page itself crashed, as Chromium's do now and then (docs/browsers.md). */
  async function run(file: string, lane: Lane): Promise<Outcome> {
    for (let crashes = 0; ; crashes++) {
      try {
        return await runOnce(file, lane);
      } catch (error) {
        if (crashes === MAX_CRASHES || !String(error).includes("Target crashed")) throw error;
        console.log(`Chromium's page crashed in ${file} over ${lane}: run again`);
      }
    }
  }

  async function runOnce(file: string, lane: Lane): Promise<Outcome> {
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

  describe.each(["webtransport", "websocket", "connectWebTransport", "ponyfill", "createStreamSession"] as const)(
    "%s",
    (lane) => {
      it.for(files.filter(({ [lane]: least }) => least !== undefined))(
        "$file",
        { timeout: 240_000 },
        async ({ file, [lane]: least = 0 }, { task }) => {
          const { passed, skipped, failed } = await run(file, lane);
          if (lane !== "createStreamSession")
            task.meta.shownInPage = { lane, passed, skipped, failed: failed.map(([name]) => name) };
          expect(failed).toEqual([]);
          expect(passed.length).toBeGreaterThanOrEqual(least);
        },
      );
    },
  );
});
