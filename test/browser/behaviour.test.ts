import { devCertificate } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleBehaviours } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import type { Outcome } from "./page/remote.js";
import { RemoteServers } from "./remote-servers.js";

/** Files of behaviours, and how many of their tests a page must pass at least. Some skip: they hand the server functions, or ask Node. */
const files: readonly [string, number][] = [
  ["admission", 4],
  ["basic", 26],
  ["cancellation", 26],
  ["deadlines", 12],
  ["drain", 6],
  ["errors", 52],
  ["limits", 5],
  ["metadata", 49],
  ["sessions", 6],
  ["sizes", 8],
  ["typed-errors", 22],
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

  async function run(file: string, lane: "webtransport" | "websocket"): Promise<Outcome> {
    const page = await chromium.open();
    try {
      for (const name of ["start", "seen", "release", "session", "stop"] as const) {
        const call = servers[name].bind(servers) as (...given: unknown[]) => unknown;
        await page.exposeFunction(`remote_${name}`, call);
      }
      await page.reload();
      await page.evaluate(
        `globalThis.lane = ${JSON.stringify(lane)};
         globalThis.remote = { start: remote_start, seen: remote_seen, release: remote_release, session: remote_session, stop: remote_stop };
         ${lane === "websocket" ? "globalThis.WebTransport = undefined;" : ""}`,
      );
      await page.addScriptTag({ content: await bundleBehaviours(file) });
      return await page.evaluate("globalThis.runAll()");
    } finally {
      await page.close();
      await servers.stopAll();
    }
  }

  describe.each(["webtransport", "websocket"] as const)("%s", (lane) => {
    it.each(files)(
      "%s",
      async (file, least) => {
        const { passed, failed } = await run(file, lane);
        expect(failed).toEqual([]);
        expect(passed.length).toBeGreaterThanOrEqual(least);
      },
      120_000,
    );
  });
});
