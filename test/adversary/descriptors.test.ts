// Connections until the server has no file descriptor left.
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { pause } from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, Victim, withstand } from "./harness.js";

const HOST = "127.0.0.1";
/** Descriptors that are free once the server listens. */
const DESCRIPTORS = 120;

let victim: Victim | undefined;
afterEach(() => victim?.stop());

it.skipIf(process.platform !== "linux").each(schemes.filter((scheme) => scheme !== "unix:" && scheme !== "quic:"))(
  "over %s: sessions go on, and newcomers are let in when the attacker is gone",
  async (scheme) => {
    const server = await Victim.start({ schemes: [scheme], http: ["wss:", "ws:", "https:"].includes(scheme) });
    victim = server;
    server.limitDescriptors(DESCRIPTORS);
    const port = Number(new URL(server.url(scheme)).port);
    const attack = async (): Promise<void> => {
      const sockets: Socket[] = [];
      for (let turn = 0; turn < 5; turn++) {
        const batch = Array.from({ length: 100 }, () => {
          const socket = connectTcp({ port, host: HOST }).on("error", () => {});
          sockets.push(socket);
          return Promise.race([once(socket, "connect").catch(() => {}), pause(500)]);
        });
        await Promise.all(batch);
        await pause(100);
      }
      for (const socket of sockets) socket.destroy();
      await pause(200);
    };
    await withstand(server, attack, { peak: 120 * MIB, cpu: 250 });
    const session = await server.dial(scheme);
    expect(await session.unary(methods.echo, "after")).toBe("after");
    await session.close();
  },
);
