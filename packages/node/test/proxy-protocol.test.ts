// The PROXY protocol: whose connection a balancer says it is, from those who may say so.
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createRouter } from "@quicrpc/core/generated";
import { createSession } from "@quicrpc/core";
import { webSocketTransport } from "@quicrpc/core/transport";
import { devCertificate, nodeStreamTransport, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { parseProxyHeader, TrustedProxies } from "../dist/listen/proxy-protocol.js";
import { methods } from "../../../test/behaviour/service.js";
import { closedAfterEach } from "../../../test/open.js";

const SIGNATURE = "0d0a0d0a000d0a515549540a";
/** A header of version 2. */
function binary(command: string, family: string, addresses: string): Buffer {
  const length = (addresses.length / 2).toString(16).padStart(4, "0");
  return Buffer.from(`${SIGNATURE}${command}${family}${length}${addresses}`, "hex");
}
/** From 192.0.2.7, port 4660, with an extension behind the addresses. */
const V4 = binary("21", "11", "c0000207c6336401123401bb0400020000");
const V6 = binary("21", "21", "20010db8000000000000000000000007" + "00".repeat(16) + "123401bb");
const LOCAL = binary("20", "00", "");
const TEXT = Buffer.from("PROXY TCP4 192.0.2.7 198.51.100.1 4660 443\r\n");
const TEXT_V6 = Buffer.from("PROXY TCP6 2001:db8:0::7 ::1 4660 443\r\n");

const open = closedAfterEach();

const { echo } = methods;
const service = createRouter({ echo }, { echo: (input) => input });

async function served(listen: string, options: Partial<ServeOptions> = {}): Promise<{ server: Server; peers: Peer[] }> {
  const { cert, key } = await devCertificate();
  const peers: Peer[] = [];
  const server = await serve({
    tls: { cert, key },
    routers: [service],
    listen: [listen],
    ...options,
    advanced: { trustedProxies: ["127.0.0.0/8"], onSession: (_, peer) => void peers.push(peer), ...options.advanced },
  });
  open.push(server);
  return { server, peers };
}

/** A connection that begins with these bytes, in pieces of one where so asked. */
async function connected({ address }: Server, header: Buffer, piecewise = false): Promise<Socket> {
  const socket = connectTcp({ port: address.port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  open.push({ close: async () => socket.destroy() });
  await once(socket, "connect");
  for (const byte of piecewise ? header : []) {
    socket.write(Uint8Array.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!piecewise) socket.write(header);
  return socket;
}

/** A call over the connection, as the listener expects it. */
async function called(listen: string, socket: Socket): Promise<void> {
  const { protocol } = new URL(listen);
  const carrier =
    protocol === "tls:" || protocol === "wss:"
      ? connectTls({
          socket,
          rejectUnauthorized: false,
          ALPNProtocols: [protocol === "tls:" ? "quicrpc/1" : "http/1.1"],
        })
      : socket;
  const session = createSession(
    protocol === "ws:" || protocol === "wss:"
      ? webSocketTransport(
          new WebSocket("ws://localhost/rpc", ["quicrpc.v1"], { createConnection: () => carrier }),
          "client",
        )
      : nodeStreamTransport({ readable: carrier, writable: carrier }, "client"),
  );
  expect(await session.unary(echo, { text: "x".repeat(100_000) })).toMatchObject({ text: expect.any(String) });
}

describe.each(["tcp://127.0.0.1:0", "tls://127.0.0.1:0", "ws://127.0.0.1:0/rpc", "wss://127.0.0.1:0/rpc"])(
  "behind a balancer, %s",
  (listen) => {
    it.each([
      ["version 2, IPv4", V4, "192.0.2.7"],
      ["version 2, IPv6", V6, "2001:db8::7"],
      ["version 1", TEXT, "192.0.2.7"],
    ])("%s: the address is the client's", async (_, header, host) => {
      const { server, peers } = await served(listen);
      await called(listen, await connected(server, header));
      expect(peers.map(({ remoteAddress }) => remoteAddress)).toEqual([{ host, port: 4660 }]);
    });

    it("a header in pieces, and one in which the balancer speaks for itself", async () => {
      const { server, peers } = await served(listen);
      await called(listen, await connected(server, V4, true));
      await called(listen, await connected(server, LOCAL));
      expect(peers.map(({ remoteAddress }) => remoteAddress?.host)).toEqual(["192.0.2.7", "127.0.0.1"]);
    });

    it("the share is the client's, not the balancer's", async () => {
      const { server } = await served(listen, { advanced: { transport: { maxHandshakesPerAddress: 2 } } });
      const other = binary("21", "11", "c0000208c6336401123401bb");
      await Promise.all([V4, V4, V4, V4].map((header) => connected(server, header)));
      await called(listen, await connected(server, other));
    });

    it("one that is not trusted is not believed", async () => {
      const { server, peers } = await served(listen, {
        limits: { maxHandshakeMs: 300 },
        advanced: { trustedProxies: ["192.0.2.1"] },
      });
      const impostor = await connected(server, V4);
      impostor.resume();
      await once(impostor, "close");
      expect(peers).toEqual(peers.filter(({ remoteAddress }) => remoteAddress?.host === "127.0.0.1"));
      const direct = connectTcp({ port: server.address.port, host: "127.0.0.1" });
      open.push({ close: async () => direct.destroy() });
      await called(listen, direct);
    });

    it("a trusted one that sends no header, or none to its end, is closed", async () => {
      const { server, peers } = await served(listen, { limits: { maxHandshakeMs: 200 } });
      const bare = await connected(server, Buffer.from("024003000001", "hex"));
      const unfinished = await connected(server, V4.subarray(0, 20));
      await Promise.all([bare, unfinished].map((socket) => once(socket.resume(), "close")));
      expect(peers).toEqual([]);
    });
  },
);

describe("a header", () => {
  it.each([
    [V4, "192.0.2.7"],
    [V6, "2001:db8::7"],
    [LOCAL, undefined],
    [TEXT, "192.0.2.7"],
    [TEXT_V6, "2001:db8::7"],
    [Buffer.from("PROXY UNKNOWN\r\n"), undefined],
  ])("is read when it is complete, and not before: %#", (header, host) => {
    for (let length = 0; length < header.length; length++) {
      expect(parseProxyHeader(header.subarray(0, length))).toEqual({ kind: "incomplete" });
    }
    const source = host === undefined ? undefined : { host, port: 4660 };
    const followed = Buffer.concat([header, Buffer.from("abc")]);
    expect(parseProxyHeader(followed)).toEqual({ kind: "header", length: header.length, source });
  });

  it.each([
    ["another protocol", Buffer.from("GET / HTTP/1.1\r\n")],
    ["another version", binary("31", "11", "00".repeat(12))],
    ["another command", binary("22", "11", "00".repeat(12))],
    ["addresses that are too short", binary("21", "11", "00".repeat(11))],
    ["addresses of a socket file", binary("21", "31", "00".repeat(216))],
    ["a length beyond the bound", Buffer.from(`${SIGNATURE}2111ffff`, "hex")],
    ["text without an end", Buffer.from(`PROXY TCP4 ${"1".repeat(120)}`)],
    ["text with another family", Buffer.from("PROXY TCP4 ::1 ::1 1 2\r\n")],
    ["text with an impossible port", Buffer.from("PROXY TCP4 192.0.2.7 192.0.2.8 70000 2\r\n")],
    ["text with no address", Buffer.from("PROXY TCP4\r\n")],
  ])("with %s is none", (_, header) => {
    expect(parseProxyHeader(header)).toEqual({ kind: "malformed" });
  });
});

it("trusted proxies are addresses and networks", () => {
  const proxies = new TrustedProxies(["192.0.2.1", "10.0.0.0/8", "2001:db8::/32"]);
  const has = (remoteAddress: string): boolean => proxies.has({ remoteAddress } as Socket);
  expect(["192.0.2.1", "::ffff:10.1.2.3", "2001:db8:1::1"].map(has)).toEqual([true, true, true]);
  expect(["192.0.2.2", "11.0.0.1", "2001:db9::1"].map(has)).toEqual([false, false, false]);
  for (const entry of ["balancer.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", ""]) {
    expect(() => new TrustedProxies([entry])).toThrow(TypeError);
  }
});
