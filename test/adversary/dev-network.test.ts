// The network of `quicrpc dev --network`, which strangers on the same network can reach.
import { createSocket } from "node:dgram";
import { connect as connectTcp } from "node:net";
import { createSession } from "@quicrpc/core";
import { devCertificate } from "@quicrpc/node";
import { openNetwork } from "@quicrpc/testing";
import { Endpoint } from "@quicrpc/quic";
import { afterEach, expect, it } from "vitest";
import { pause } from "./bytes.js";
import { methods } from "./contract.js";
import { schemes, Victim } from "./harness.js";

const HOST = "127.0.0.1";
/** More than the network keeps sockets for. */
const ADDRESSES = 1100;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

it.skipIf(!schemes.includes("quic:"))(
  "packets from more addresses than it has places for: a session keeps its calls",
  async () => {
    const server = await Victim.start({ schemes: ["quic:"] });
    open.push({ close: () => server.stop() });
    const target = Number(new URL(server.url("quic:")).port);
    const network = await openNetwork({ target });
    open.push(network);
    const { hash } = await devCertificate();
    const endpoint = Endpoint.bind({ host: HOST });
    open.push(endpoint);
    const tls = { serverCertificateHashes: [hash] };
    const session = createSession(await endpoint.connect({ host: HOST, port: network.port, alpn: ["quicrpc/1"], tls }));
    expect(await session.unary(methods.echo, "before")).toBe("before");
    for (let turn = 0; turn < 11; turn++) {
      const sockets = Array.from({ length: ADDRESSES / 11 }, () => createSocket("udp4").on("error", () => {}));
      for (const socket of sockets) socket.send(Buffer.alloc(1200, turn), network.port, HOST);
      await pause(20);
      for (const socket of sockets) socket.close();
      expect(await session.unary(methods.echo, turn, { timeoutMs: 5000 })).toBe(turn);
    }
    const connections = Array.from({ length: 100 }, () =>
      connectTcp({ port: network.port, host: HOST }).on("error", () => {}),
    );
    open.push({ close: () => connections.map((socket) => socket.destroy()) });
    // Nothing listens on TCP behind it.
    await Promise.all(connections.map((socket) => new Promise((resolve) => socket.on("close", resolve))));
    expect(await session.unary(methods.echo, "after")).toBe("after");
    await session.close();
  },
);
