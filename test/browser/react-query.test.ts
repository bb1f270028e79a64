import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRouter } from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from "vitest";
import { freePort } from "../../scripts/free-port.mjs";
import { startProgram } from "../child-program.js";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import { methods } from "./page/queries.js";

/** Events in the server's handlers, in order, for a test to wait for. */
class Events {
  private readonly seen: string[] = [];
  private wake: () => void = () => {};

  add(event: string): void {
    this.seen.push(event);
    this.wake();
  }

  async until(event: string): Promise<void> {
    while (!this.seen.includes(event)) await new Promise<void>((resolve) => (this.wake = resolve));
  }
}

/** Lets handlers go on, one step for each call of `open`. */
class Gate {
  private ahead = 0;
  private waiting: (() => void)[] = [];

  open(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.ahead++;
    else next();
  }

  async pass(): Promise<void> {
    if (this.ahead > 0) this.ahead--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

describe.skipIf(executablePath === undefined)("React with TanStack Query in a page", () => {
  let chromium: Chromium;
  let script: string;
  let page: Page;
  let server: Server;
  let events: Events;
  let gate: Gate;

  beforeAll(async () => {
    script = await bundle(`import "./browser/page/react.js";`);
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(() => chromium?.close());

  beforeEach(async () => {
    events = new Events();
    gate = new Gate();
    const handlers = createRouter(methods, {
      async double(n, { signal }) {
        events.add(`double ${n}`);
        signal.addEventListener("abort", () => events.add(`double ${n} cancelled`));
        await gate.pass();
        if (n < 0) throw new RpcError("out_of_range", "too small");
        return n * 2;
      },
      async *count(to, { signal }) {
        signal.addEventListener("abort", () => events.add("count cancelled"));
        for (let i = 1; i <= to; i++) {
          await gate.pass();
          yield i;
        }
      },
      add: (n) => n + 1,
      live: () => [],
      async *follow(_, { signal }) {
        yield { id: 1 };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const { cert, key, hash } = await devCertificate();
    server = await serve({ listen: ["https://127.0.0.1:0/rpc"], tls: { cert, key }, routers: [handlers] });
    page = await chromium.open();
    await page.addScriptTag({ content: script });
    await page.evaluate(`start(${JSON.stringify(server.urls[0])}, ${JSON.stringify([...hash.value])})`);
    await page.waitForSelector("#add");
  });
  afterEach(async () => {
    await page.close();
    await server.close();
  });

  const show = (what: { double?: number; count?: boolean; live?: boolean }): Promise<unknown> =>
    page.evaluate(`show(${JSON.stringify({ double: 0, count: false, live: false, ...what })})`);
  /** Fails by its own timeout. */
  const shows = (id: string, text: string): Promise<unknown> => page.waitForSelector(`#${id} >> text="${text}"`);

  it("shows what the connection does, and the streams that wait to go on", async () => {
    await shows("state", "ready 0");
    await page.evaluate("follow()");
    await page.waitForFunction("globalThis.id === 1");
    await server.close({ closeCode: 1 });
    await shows("state", "connecting 1");
  });

  it("shows a query while it loads, then its answer", async () => {
    await show({ double: 4 });
    await events.until("double 4");
    await shows("double", "loading");
    gate.open();
    await shows("double", "8");
  });

  it("shows the error of a call", async () => {
    gate.open();
    await show({ double: -1 });
    await shows("double", "RpcError out_of_range: too small");
  });

  it("mutates when it is asked to", async () => {
    await shows("add", "idle");
    await page.click("#add");
    await shows("add", "success 6");
  });

  it("shows the items of a stream one by one", async () => {
    await show({ count: true });
    await shows("count", "fetching");
    gate.open();
    await shows("count", "1 fetching");
    gate.open();
    await shows("count", "1 2 fetching");
    gate.open();
    await shows("count", "1 2 3 idle");
  });

  it("cancels a query in its handler when its component goes", async () => {
    await show({ double: 7 });
    await events.until("double 7");
    await show({});
    await events.until("double 7 cancelled");
  });

  it("cancels a stream in its handler when its component goes", async () => {
    await show({ count: true });
    gate.open();
    await shows("count", "1 fetching");
    await show({});
    await events.until("count cancelled");
  });

  it("opens a stream again after its server was killed", { timeout: 90_000 }, async () => {
    const port = await freePort();
    const start = (name: string): Promise<{ readonly child: ChildProcess }> =>
      startProgram(new URL("live-server.ts", import.meta.url), { port, name });
    const { child } = await start("first");
    const { hash } = await devCertificate();
    await page.evaluate(`start("https://127.0.0.1:${port}/rpc", ${JSON.stringify([...hash.value])})`);
    await show({ live: true });
    await shows("live", "first open");
    child.kill("SIGKILL");
    await once(child, "exit");
    const { child: next } = await start("second");
    await page.waitForSelector('#live >> text="second open"', { timeout: 60_000 });
    next.kill();
  });
});
