import { type DevCertificate, devCertificate } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exposed, files, prelude } from "./behaviour-files.js";
import { bundleBehaviours } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import type { Lane, Outcome } from "./page/remote.js";
import { RemoteServers } from "./remote-servers.js";
import "./shown.js";

describe.skipIf(executablePath === undefined)("behaviours in a page", () => {
  let chromium: Chromium;
  let certificate: DevCertificate;

  beforeAll(async () => {
    certificate = await devCertificate();
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());

  /** Runs a file in a page. */
  async function run(file: string, lane: Lane): Promise<Outcome> {
    const servers = new RemoteServers(certificate);
    const page = await chromium.open("/", exposed(servers));
    try {
      await page.evaluate(prelude(lane));
      await page.addScriptTag({ content: await bundleBehaviours(file) });
      return await page.evaluate("globalThis.runAll()");
    } finally {
      await page.close();
      await servers.stopAll();
    }
  }

  // One at a time: a page with a message of 16 MiB leaves others no processor for seconds, in which their sessions are given up.
  describe.each(["webtransport", "websocket", "connectWebTransport", "ponyfill", "createStreamSession"] as const)(
    "%s",
    (lane) => {
      it.for(Object.entries(files[lane]))("%s", { timeout: 240_000 }, async ([file, least], { task }) => {
        const { passed, skipped, failed } = await run(file, lane);
        if (lane !== "createStreamSession")
          task.meta.shownInPage = { lane, passed, skipped, failed: failed.map(([name]) => name) };
        expect(failed).toEqual([]);
        expect(passed.length).toBeGreaterThanOrEqual(least);
      });
    },
  );
});
