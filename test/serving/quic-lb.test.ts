import { createSession, type Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { type ConnectionIdOptions, Endpoint } from "@quicrpc/quic";
import { describe, expect, it } from "vitest";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";
import { QuicBalancer } from "./quic-lb-balancer.js";

const open = closedAfterEach();
const { echo } = methods;
const key = Uint8Array.from({ length: 16 }, (_, i) => 17 * i);

interface Client {
  readonly endpoint: Endpoint;
  readonly session: Session;
  readonly home: string;
}

/** A server that answers with its id. */
async function served(serverId: string, options: Omit<ConnectionIdOptions, "serverId">): Promise<Server> {
  const server = await serve({
    listen: "quic://127.0.0.1:0",
    tls: await devCertificate(),
    routers: [createRouter({ echo }, { echo: () => ({ text: serverId }) })],
    advanced: { connectionIds: { serverId, ...options } },
  });
  open.push(server);
  return server;
}

async function where(session: Session): Promise<string> {
  return (await session.unary(echo, { text: "" })).text;
}

async function dialled(port: number): Promise<Client> {
  const { hash } = await devCertificate();
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  open.push(endpoint);
  const tls = { serverCertificateHashes: [hash] };
  const session = createSession(await endpoint.connect({ host: "127.0.0.1", port, alpn: ["quicrpc/1"], tls }));
  return { endpoint, session, home: await where(session) };
}

/** Moves every client to addresses that the balancer has not seen, `times` times, with calls in progress. */
async function moved(balancer: QuicBalancer, clients: readonly Client[], times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await Promise.all(
      clients.map(async ({ endpoint, session, home }) => {
        const underWay = where(session);
        // The system may give out a port that another client has left.
        do endpoint.rebind();
        while (balancer.knows(endpoint.address.port));
        expect([await underWay, await where(session)]).toEqual([home, home]);
      }),
    );
  }
}

describe.skipIf(process.env["QUICRPC_NO_ENGINE"] !== undefined)("through a balancer that knows QUIC-LB", () => {
  it.each([
    { name: "plain ids of 8 bytes, as AWS's", ids: ["1122334455667701", "1122334455667702"], nonceBytes: 4, config: 0 },
    { name: "encrypted in four passes", ids: ["a1", "a2"], key, nonceBytes: 8, config: 3 },
    { name: "an even number of bytes", ids: ["a1b1c1", "a2b2c2"], key, nonceBytes: 5, config: 1 },
    { name: "encrypted in one", ids: ["1122334455667701", "1122334455667702"], key, nonceBytes: 8, config: 6 },
  ])("$name: a client stays with its server, whatever its address, while servers come and go", async (mode) => {
    const { ids, nonceBytes, config } = mode;
    const options = { nonceBytes, config, ...(mode.key !== undefined && { key: mode.key }) };
    const serverIdBytes = (ids[0] ?? "").length / 2;
    const balancer = await QuicBalancer.start({ config, nonceBytes, serverIdBytes, key: mode.key });
    open.push(balancer);
    for (const id of ids) balancer.servers.set(id, (await served(id, options)).address.port);
    balancer.accepting = [...balancer.servers.values()];
    const clients: Client[] = [];
    while (new Set(clients.map(({ home }) => home)).size < 2 || clients.length < 4) {
      clients.push(await dialled(balancer.port));
    }
    await moved(balancer, clients, 3);
    expect(balancer.followed).toBeGreaterThanOrEqual(3 * clients.length);
    // Another server takes all new clients; those of the others stay.
    const third = (ids[0] ?? "").replace(/.$/, "9");
    balancer.servers.set(third, (await served(third, options)).address.port);
    balancer.accepting = [balancer.servers.get(third) ?? 0];
    await moved(balancer, clients, 2);
    const late = await dialled(balancer.port);
    expect(late.home).toBe(third);
    await moved(balancer, [...clients, late], 1);
  });

  it("says what ids cannot be", async () => {
    for (const [options, message] of [
      [{ serverId: "0x123" }, "hexadecimal"],
      [{ serverId: "01", nonceBytes: 3 }, "nonceBytes at least 4"],
      [{ serverId: "01", nonceBytes: 4.5 }, "must be a small integer"],
      [{ serverId: "01", config: 7 }, "config must be 0 to 6"],
      [{ serverId: "01", key: new Uint8Array(15) }, "16 bytes"],
      [{ serverId: new Uint8Array(13) }, "together at most 16"],
    ] as const) {
      expect(() => Endpoint.bind({ connectionIds: options })).toThrow(message);
    }
    expect(() => Endpoint.bind({ reusePort: true, connectionIds: { serverId: "01" } })).toThrow("PortGroup");
    await expect(
      serve({ port: 0, routers: [], advanced: { connectionIds: { serverID: "01" } as never } }),
    ).rejects.toThrow("serverID");
  });
});
