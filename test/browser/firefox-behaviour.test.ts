import { devCertificate } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exposed, files, prelude } from "./behaviour-files.js";
import { bundleBehaviours } from "./bundle.js";
import { Firefox, firefoxPath } from "./firefox.js";
import type { Outcome } from "./page/remote.js";
import { RemoteServers } from "./remote-servers.js";
import { Site } from "./site.js";
import "./shown.js";

const lane = "firefox";

describe.skipIf(firefoxPath === undefined)("behaviours in a page of Firefox", () => {
  let firefox: Firefox;
  let site: Site;
  let servers: RemoteServers;

  beforeAll(async () => {
    servers = new RemoteServers(await devCertificate());
    site = await Site.start();
    firefox = await Firefox.launch(firefoxPath as string);
  }, 60_000);
  afterAll(async () => {
    await firefox?.close();
    site?.close();
    await servers?.stopAll();
  });

  async function run(file: string): Promise<Outcome> {
    const tab = await firefox.open(site.origin);
    try {
      await tab.expose(exposed(servers));
      await tab.run(prelude(lane));
      await tab.run(await bundleBehaviours(file));
      const outcome = (await tab.evaluate("runAll()")) as Outcome;
      // Firefox does not say why a session was refused: the counters of the server may.
      if (outcome.failed.length > 0) console.error(await servers.meetingStats());
      return outcome;
    } finally {
      await tab.close();
      await servers.stopAll();
    }
  }

  it.for(Object.entries(files[lane]))("%s", { timeout: 240_000 }, async ([file, least], { task }) => {
    const { passed, skipped, failed } = await run(file);
    task.meta.shownInPage = { lane, passed, skipped, failed: failed.map(([name]) => name) };
    expect(failed).toEqual([]);
    expect(passed.length).toBeGreaterThanOrEqual(least);
  });
});
