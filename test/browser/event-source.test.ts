import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpMethods } from "../../packages/http/test/generated/http.js";
import { type Browser, BROWSERS } from "./browsers.js";

const PAGE = "<!doctype html><title>A page without a client of this project</title>";

const { follow } = httpMethods;

/** Everything that an `EventSource` of the path tells, until it is closed: by the page at the event `last`, or by the server. */
const eventsOf = (path: string, last: string | null): string =>
  `new Promise((resolve) => {
    const seen = [];
    const source = new EventSource(${JSON.stringify(path)});
    source.onopen = () => seen.push("open");
    source.onmessage = ({ data, lastEventId }) => {
      seen.push(lastEventId + " " + data);
      fetch("/seen?" + lastEventId).catch(() => {});
    };
    const closed = () => {
      source.close();
      resolve(seen);
    };
    source.addEventListener("end", () => {
      seen.push("end");
      if (${JSON.stringify(last)} === "end") closed();
    });
    // The platform's own event for a lost connection has no data.
    source.addEventListener("error", ({ data }) => {
      if (data !== undefined) seen.push(JSON.parse(data).code);
      if (source.readyState === EventSource.CLOSED) closed();
    });
  })`;

const upTo = (last: number): string =>
  `/test.v1.Http/follow?message=${encodeURIComponent(JSON.stringify({ upTo: last }))}`;

describe.each(BROWSERS)("the EventSource of %s", (_, path, launch) => {
  describe.skipIf(path === undefined)("and a stream over HTTP", () => {
    let server: Server;
    let browser: Browser;
    let origin: string;
    /** Called by the handler when the page has an item. */
    let after: (i: number) => void;
    let tellSeen: (i: string) => void;
    let resumed: (string | undefined)[];

    beforeAll(async () => {
      const router = createRouter(
        { follow },
        {
          async *follow({ upTo }, { resumeFrom }) {
            resumed.push(resumeFrom);
            for (let i = Number(resumeFrom ?? 0) + 1; i <= upTo; i++) {
              const seen = new Promise<void>((resolve) => {
                tellSeen = (id) => {
                  if (id === String(i)) resolve();
                };
              });
              yield { i };
              await seen;
              after(i);
            }
          },
        },
      );
      const handle = toNodeHandler(createFetchHandler({ routers: [router] }));
      server = createServer((request, response) => {
        const { pathname, search } = new URL(request.url ?? "", "http://localhost");
        if (pathname === "/seen") tellSeen(search.slice(1));
        if (pathname === "/seen") response.end();
        else if (pathname === "/") response.setHeader("content-type", "text/html").end(PAGE);
        else handle(request, response);
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      browser = await launch(path as string);
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      server?.closeAllConnections();
      server?.close();
    });

    async function seen(expression: string): Promise<unknown> {
      resumed = [];
      const page = await browser.open(`${origin}/`);
      try {
        return await page.evaluate(expression);
      } finally {
        await page.close();
      }
    }

    it("has each item, with its cursor as the id, and the end", async () => {
      after = () => {};
      expect(await seen(eventsOf(upTo(2), "end"))).toEqual(["open", '1 {"i":1}', '2 {"i":2}', "end"]);
    });

    it("goes on after the last item when the connection breaks, or the server goes away", {
      timeout: 60_000,
    }, async () => {
      const breaks = new Map<number, () => void>([
        [2, () => server.closeAllConnections()],
        [3, () => throwUnavailable()],
      ]);
      after = (i) => {
        const happens = breaks.get(i);
        breaks.delete(i);
        happens?.();
      };
      const events = await seen(eventsOf(upTo(4), "end"));
      expect(events).toEqual([
        "open",
        '1 {"i":1}',
        '2 {"i":2}',
        "open",
        '3 {"i":3}',
        "unavailable",
        "open",
        '4 {"i":4}',
        "end",
      ]);
      expect(resumed).toEqual([undefined, "2", "3"]);
    });

    it("does not begin anew after the end, where the page does not close it", { timeout: 60_000 }, async () => {
      after = () => {};
      expect(await seen(eventsOf(upTo(1), null))).toEqual(["open", '1 {"i":1}', "end"]);
      expect(resumed).toEqual([undefined]);
    });
  });
});

function throwUnavailable(): never {
  throw new RpcError("unavailable", "the server goes away");
}
