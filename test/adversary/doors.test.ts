// What peers can make a server hold that it has not let in: none of them ever gets a session here.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { connect as connectTcp, type Socket } from "node:net";
import { devCertificate } from "@quicrpc/node";
import { Endpoint, type QuicSession } from "@quicrpc/quic";
import { afterEach, describe, expect, it } from "vitest";
import { Attacker, frame, FrameKind, pause } from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, Victim, withstand } from "./harness.js";

const PEAK = 120 * MIB;
const HOST = "127.0.0.1";
const JSON_TYPE = "application/json";

let victim: Victim | undefined;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await victim?.stop();
});

/** Runs an attack on a server that lets in its first client only, which makes calls meanwhile. */
async function besiege(scheme: string, attack: (server: Victim) => Promise<void>, http2 = false): Promise<void> {
  const server = await Victim.start({
    schemes: [scheme],
    ...(http2 && { webSocket: true, http2 }),
    authenticate: "first",
    limits: { maxHandshakeMs: 3000 },
  });
  victim = server;
  await withstand(
    server,
    async () => {
      await attack(server);
      await pause(200);
      for (const one of open.splice(0)) await one.close();
    },
    { peak: PEAK },
  );
}

function portOf(server: Victim, scheme: string): number {
  return Number(new URL(server.url(scheme)).port);
}

async function connected<S extends Socket>(socket: S, event: "connect" | "secureConnect"): Promise<S> {
  socket.on("error", () => {});
  open.push({ close: () => socket.destroy() });
  await once(socket, event);
  socket.resume();
  return socket;
}

const tls = (port: number, alpn: string): Promise<TLSSocket> =>
  connected(connectTls({ port, host: HOST, rejectUnauthorized: false, ALPNProtocols: [alpn] }), "secureConnect");
const tcp = (port: number): Promise<Socket> => connected(connectTcp({ port, host: HOST }), "connect");

/** Writes the same bytes until so many are written, nobody takes them any more, or the time is over. */
async function pour(socket: Socket, bytes: Uint8Array, most: number, forMs = 2000): Promise<void> {
  const until = Date.now() + forMs;
  for (let written = 0; written < most && !socket.destroyed && Date.now() < until; written += bytes.length) {
    if (socket.write(bytes)) continue;
    await Promise.race([once(socket, "drain"), pause(200)]).catch(() => {});
    if (socket.writableNeedDrain) return;
  }
}

const UPGRADE = Buffer.from(
  "GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n" +
    "Sec-WebSocket-Protocol: quicrpc.v1\r\n\r\n",
);

describe.each(schemes)("over %s, before authenticate has spoken", (scheme) => {
  it("peers that send as much as they can", () =>
    besiege(scheme, async (server) => {
      const junk = frame(FrameKind.request, 0, new Uint8Array(64 * 1024));
      await Promise.all(
        Array.from({ length: 40 }, async () => {
          const attacker = new Attacker(await server.transport(scheme));
          open.push(attacker);
          for (const lane of attacker.lanes(30)) {
            for (let i = 0; i < 40 && (await lane.write(junk, 100)); i++);
          }
        }),
      );
    }));
});

it("bytes in TLS records of their own", () =>
  besiege("tls:", async (server) => {
    await Promise.all(
      Array.from({ length: 60 }, async () => {
        const socket = await tls(portOf(server, "tls:"), "quicrpc/1");
        socket.setNoDelay(true);
        for (let i = 0; i < 20_000 && socket.writableLength < MIB; i++) socket.write(Uint8Array.of(i));
      }),
    );
  }));

it("messages of one byte on WebSockets", () =>
  besiege("ws:", async (server) => {
    const message = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from("8281000000000a", "hex")));
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = await tcp(portOf(server, "ws:"));
        socket.write(UPGRADE);
        await pour(socket, message, 4 * MIB);
      }),
    );
  }));

it("pings of a WebSocket that reads no answer", async () => {
  victim = await Victim.start({ schemes: ["ws:"] });
  const server = victim;
  const hello = Buffer.from("828600000000024003000001", "hex");
  const ping = Buffer.concat([Buffer.from("89fd00000000", "hex"), Buffer.alloc(125)]);
  const attack = async (): Promise<void> => {
    const socket = connectTcp({ port: portOf(server, "ws:"), host: HOST });
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(Buffer.concat([UPGRADE, hello]));
    await pour(socket, Buffer.concat(Array.from({ length: 2000 }, () => ping)), 100 * MIB, 4000);
    socket.destroy();
  };
  await withstand(server, attack, { peak: PEAK });
});

it("requests over HTTP/2 that keep authenticate busy: sessions of another address are let in", async () => {
  const server = await Victim.start({ schemes: ["wss:"], http: true, authenticate: "slow" });
  victim = server;
  const times: number[] = [];
  const attack = async (): Promise<void> => {
    const url = `https://${HOST}:${portOf(server, "wss:")}`;
    let attacking = true;
    for (let count = 0; count < 20; count++) {
      const createConnection = (): TLSSocket => {
        const socket = connectTcp({ host: HOST, port: portOf(server, "wss:"), localAddress: "127.0.0.2" });
        return connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
      };
      const client = connectHttp2(url, { createConnection });
      client.on("error", () => {});
      open.push({ close: () => client.destroy() });
      const ask = (): void => {
        if (!attacking || client.destroyed) return;
        const request = client.request({
          ":method": "POST",
          ":path": "/test.v1.Victim/hang",
          "content-type": JSON_TYPE,
        });
        request
          .on("error", () => {})
          .on("close", ask)
          .resume()
          .end("{}");
      };
      for (let streams = 0; streams < 100; streams++) ask();
    }
    await pause(1000);
    for (let count = 0; count < 3; count++) {
      const began = performance.now();
      const session = await server.dial("wss:");
      await session.unary(methods.echo, count, { timeoutMs: 9000 });
      times.push(performance.now() - began);
      await session.close();
    }
    attacking = false;
    for (const one of open.splice(0)) await one.close();
  };
  await withstand(server, attack, { peak: PEAK });
  // The look-up itself takes a second.
  expect(Math.max(...times)).toBeLessThan(5000);
});

it("connections that are opened and say nothing", () =>
  besiege("tls:", async (server) => {
    const port = portOf(server, "tls:");
    await Promise.all(Array.from({ length: 600 }, () => tcp(port).catch(() => {})));
  }));

/** length (3) | type | flags | stream (4) | payload */
function http2Frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}
const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(4, 0, 0)]);
/** HPACK literals without indexing. */
function fields(list: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    list.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );
}
const CONNECT = fields([
  [":method", "CONNECT"],
  [":protocol", "webtransport"],
  [":scheme", "https"],
  [":authority", HOST],
  [":path", "/rpc"],
  ["wt-available-protocols", '"quicrpc.v1.stream"'],
]);
const oddIds = (count: number): number[] => Array.from({ length: count }, (_, at) => 2 * at + 1);

describe("over HTTP/2", () => {
  const floods: readonly (readonly [string, () => Buffer])[] = [
    ["PING", () => http2Frame(6, 0, 0, new Uint8Array(8))],
    ["SETTINGS", () => http2Frame(4, 0, 0)],
    ["PRIORITY", () => http2Frame(2, 0, 1, Uint8Array.from([0, 0, 0, 0, 1]))],
    ["unknown frames", () => http2Frame(0x42, 0, 0, new Uint8Array(100))],
    ["empty DATA", () => http2Frame(0, 0, 1)],
  ];
  it.each(floods)("%s without end", (_, one) =>
    besiege(
      "https:",
      async (server) => {
        const many = Buffer.concat(Array.from({ length: 2000 }, one));
        const socket = await tls(portOf(server, "wss:"), "h2");
        socket.write(Buffer.concat([PREFACE, http2Frame(1, 4, 1, CONNECT)]));
        await pour(socket, many, 30 * MIB);
      },
      true,
    ),
  );

  it("requests that are reset at once", () =>
    besiege(
      "https:",
      async (server) => {
        const socket = await tls(portOf(server, "wss:"), "h2");
        socket.write(PREFACE);
        const reset = (id: number): Buffer =>
          Buffer.concat([http2Frame(1, 4, id, CONNECT), http2Frame(3, 0, id, Uint8Array.from([0, 0, 0, 8]))]);
        await pour(socket, Buffer.concat(oddIds(20_000).map(reset)), 1);
        await pause(500);
      },
      true,
    ));

  it("requests without end", () =>
    besiege(
      "https:",
      async (server) => {
        for (let i = 0; i < 4; i++) {
          const socket = await tls(portOf(server, "wss:"), "h2");
          socket.write(PREFACE);
          await pour(socket, Buffer.concat(oddIds(20_000).map((id) => http2Frame(1, 4, id, CONNECT))), 1);
        }
        await pause(500);
      },
      true,
    ));

  it("sessions whose bytes come in DATA frames of their own", () =>
    besiege(
      "https:",
      async (server) => {
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            const socket = await tls(portOf(server, "wss:"), "h2");
            const ids = oddIds(20);
            socket.write(Buffer.concat([PREFACE, ...ids.map((id) => http2Frame(1, 4, id, CONNECT))]));
            const ones = ids.map((id) => http2Frame(0, 0, id, Uint8Array.of(0)));
            await pour(socket, Buffer.concat(Array.from({ length: 100 }, () => ones).flat()), 3 * MIB);
          }),
        );
      },
      true,
    ));

  it("a header section that never ends", () =>
    besiege(
      "https:",
      async (server) => {
        const socket = await tls(portOf(server, "wss:"), "h2");
        socket.write(Buffer.concat([PREFACE, http2Frame(1, 0, 1, CONNECT)]));
        await pour(socket, http2Frame(9, 0, 1, fields([["a".repeat(100), "b".repeat(100)]])), 30 * MIB);
      },
      true,
    ));
});

describe.skipIf(!schemes.includes("https:"))("over HTTP/3", () => {
  async function http3(server: Victim): Promise<QuicSession> {
    const { hash } = await devCertificate();
    const endpoint = Endpoint.bind({ host: HOST });
    open.push(endpoint);
    const session = await endpoint.connect({
      host: HOST,
      port: portOf(server, "https:"),
      serverName: "localhost",
      alpn: ["h3"],
      tls: { serverCertificateHashes: [hash] },
    });
    session.openUniStream().write(Uint8Array.from([0, 4, 4, 8, 1, 0x33, 1]));
    return session;
  }

  it("header sections of thousands of fields", () =>
    besiege("https:", async (server) => {
      // HEADERS of 16,000 bytes, each of them one field of the static table.
      const headers = new Uint8Array(16_005).fill(0xc0);
      headers.set([1, 0x7e, 0x80, 0, 0], 0);
      for (let i = 0; i < 12; i++) {
        const session = await http3(server);
        for (let n = 0; n < 16; n++) session.openStream().write(headers);
      }
      await pause(500);
    }));

  it("frames and capsules of unknown types, streams of no session, and datagrams of none", () =>
    besiege("https:", async (server) => {
      const session = await http3(server);
      const unknown = Uint8Array.from(Array.from({ length: 20_000 }, () => [0x21, 0]).flat());
      for (let i = 0; i < 16; i++) session.openStream().write(unknown);
      for (let i = 0; i < 200; i++) session.openUniStream().write(Uint8Array.from([0x40, 0x54, 0x40, 0x64, 1, 2, 3]));
      for (let turn = 0; turn < 200; turn++) {
        for (let i = 0; i < 100; i++) session.datagrams.send(Uint8Array.of(1));
        await pause(1);
      }
    }));

  it("connections that ask for nothing", () =>
    besiege("https:", async (server) => {
      const sessions = await Promise.allSettled(Array.from({ length: 200 }, () => http3(server)));
      expect(sessions.some(({ status }) => status === "fulfilled")).toBe(true);
    }));
});
