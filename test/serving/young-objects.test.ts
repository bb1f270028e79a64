// A session that has ended is garbage that the next collection of young objects takes. What V8 puts among old objects as it is made (a
// function that is assigned to a property, the getters of an object) would keep all of the session until a collection of the whole heap:
// collections of young objects then copy what nobody holds, and take milliseconds. What rests takes memory for as long.
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, dial, serve } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { trustOf } from "../../packages/node/test/trust.js";
import { heap, leftByMinorCollections } from "../behaviour/heap.js";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";
import { LISTENERS } from "./listeners.js";

const open = closedAfterEach();

const { echo } = methods;
const router = createRouter({ echo }, { echo: (input) => input });

/** Enough for the heap to grow several times over the young generation's first size. */
const SESSIONS = 300;
/** Both ends of a session with a call: over QUIC they take 6 to 7 KiB, over WebTransport 9. */
const MOST_BYTES_AT_REST = 11 * 1024;
/** What is left of those that have ended is half as much. */
const MOST_BYTES = 6 * 1024;

describe.each(LISTENERS.filter(({ name }) => name === "QUIC" || name === "WebTransport"))(
  "sessions over $name",
  ({ listen, options }) => {
    it("leave little to collections of young objects when they have ended", async () => {
      const tls = await devCertificate();
      const server = await serve({ listen, tls, routers: [router], ...options });
      open.push(server);
      const url = server.urls[0] as string;
      const sessions = async (): Promise<void> => {
        for (let made = 0; made < SESSIONS; made++) {
          const session = await dial(url, { ...trustOf(url, tls), ...options });
          await session.unary(echo, { text: "hello" });
          await session.close();
        }
      };
      await sessions();
      expect((await leftByMinorCollections(sessions)) / SESSIONS).toBeLessThan(MOST_BYTES);
    });

    it("take little of the heap while they rest", async () => {
      const tls = await devCertificate();
      const server = await serve({ listen, tls, routers: [router], ...options });
      open.push(server);
      const url = server.urls[0] as string;
      const sessions = async (): Promise<void> => {
        for (let made = 0; made < SESSIONS; made++) {
          const session = await dial(url, { ...trustOf(url, tls), ...options });
          open.push(session);
          await session.unary(echo, { text: "hello" }, { via: "lane" });
        }
      };
      await sessions();
      const before = heap();
      await sessions();
      expect((heap() - before) / SESSIONS).toBeLessThan(MOST_BYTES_AT_REST);
    });
  },
);
