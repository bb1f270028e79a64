import { createMemoryPair } from "@quicrpc/core";
import type { DirectSession } from "@quicrpc/core/transport";
import { createRouter, defineMethod, msgpackCodec } from "@quicrpc/core/generated";
import { connect, devCertificate, dial, serve, type ServeOptions, type TransportProvider } from "@quicrpc/node";
import { afterEach, describe, expect, it } from "vitest";

/** What `serve`, `connect` and `dial` ask of a transport, and refuse where it cannot carry that. */

const number = msgpackCodec<number>();
const methods = {
  double: defineMethod({ name: "test.v1.Transports", id: 7011 }, "unary", "double", {
    id: 1,
    input: number,
    output: number,
  }),
};
const routers = [createRouter(methods, { double: (n) => n * 2 })];

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const NOTHING = {
  streams: true,
  datagrams: true,
  headers: false,
  tls: false,
  clientCertificates: false,
  earlyData: false,
  proxyHeader: false,
};

/** A transport of an application's own: sessions within the process, by the host of the URL. */
function inProcess(): TransportProvider {
  const doors = new Map<string, (server: DirectSession) => void>();
  return {
    name: "this process",
    schemes: ["here:"],
    abilities: NOTHING,
    dial: async ({ host }) => {
      const [client, server] = createMemoryPair();
      const door = doors.get(host);
      if (door === undefined) throw new Error(`nobody listens on here://${host}`);
      door(server);
      return client;
    },
    listen: async ({ host = "" }, { limits }, onArrival) => {
      const url = `here://${host}`;
      doors.set(host, (transport) =>
        onArrival({
          transport,
          peer: {
            transport: "here",
            listener: url,
            remoteAddress: undefined,
            headers: new Headers(),
            path: undefined,
            origin: undefined,
            certificate: undefined,
            earlyData: false,
            handshake: Promise.resolve(),
          },
          visit: {
            remainingMs: limits.maxHandshakeMs,
            arrived: () => {},
            onGone: () => {},
            admit: () => true,
            refuse: () => {},
          },
        }),
      );
      const stop = (): void => void doors.delete(host);
      return [{ url, address: undefined, stop, close: async () => stop(), ref: () => {}, unref: () => {} }];
    },
  };
}

describe("a transport of the application's own", () => {
  it("carries sessions of serve, dial and connect, beside the built-in ones", async () => {
    const transports = [inProcess()];
    const kinds: string[] = [];
    const server = await serve({
      listen: ["here://orders", "tcp://127.0.0.1:0"],
      transports,
      routers,
      authenticate: ({ transport }) => void kinds.push(transport),
    });
    open.push(server);
    expect(server.urls[0]).toBe("here://orders");
    for (const url of server.urls) {
      const connection = await connect(url, { transports });
      open.push(connection);
      expect(await connection.unary(methods.double, 21)).toBe(42);
    }
    const session = await dial("here://orders", { transports });
    open.push(session);
    expect(await session.unary(methods.double, 4)).toBe(8);
    expect(kinds).toEqual(["here", "tcp", "here"]);
  });

  it("comes before a built-in one of its scheme", async () => {
    const transports = [{ ...inProcess(), schemes: ["quic:"] }];
    const server = await serve({ listen: ["quic://orders"], transports, routers });
    open.push(server);
    const session = await dial("quic://orders", { transports });
    open.push(session);
    expect(await session.unary(methods.double, 1)).toBe(2);
  });

  it("is named among the schemes of the refusal of a URL that nobody takes", async () => {
    const dialled = dial("gopher://localhost", { transports: [inProcess()] });
    await expect(dialled).rejects.toThrow(/^gopher:\/\/ is no transport: .*here:\/\/, quic:\/\/, https:\/\//);
    await expect(serve({ listen: ["gopher://localhost"], routers })).rejects.toThrow(/^gopher:\/\/ is no transport/);
  });
});

describe("what a transport cannot carry is refused, not dropped", () => {
  const hash = { algorithm: "sha-256", value: new Uint8Array(32) } as const;
  it.each([
    ["quic://127.0.0.1:1", { headers: { authorization: "a" } }, /headers.*quic:\/\/.*no header fields/],
    ["tls://127.0.0.1:1", { headers: {} }, /headers.*tls:\/\//],
    ["tcp://127.0.0.1:1", { ca: "x" }, /ca.*tcp:\/\/.*no TLS/],
    ["ws://127.0.0.1:1", { serverCertificateHashes: [hash] }, /serverCertificateHashes.*ws:\/\//],
    ["unix:/tmp/nobody", { serverName: "a" }, /serverName.*unix:/],
    ["tcp://127.0.0.1:1", { cert: "x", key: "y" }, /cert .*tcp:\/\//],
    ["wss://127.0.0.1:1", { earlyData: true }, /earlyData.*wss:\/\//],
    ["https://127.0.0.1:1", { earlyData: true }, /earlyData.*https:\/\//],
  ])("dial and connect: %s with %j", async (url, options, message) => {
    for (const made of [dial(url, options), connect(url, options)]) {
      const error = await made.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(message);
    }
  });

  it.each<[string, Partial<ServeOptions>, RegExp]>([
    ["tls://127.0.0.1:0", {}, /option tls for tls:\/\//],
    ["quic://127.0.0.1:0", {}, /option tls for quic:\/\//],
    ["tcp://127.0.0.1:0", { clientCertificates: { ca: "x" } }, /clientCertificates.*tcp:\/\//],
    ["tcp://127.0.0.1:0", { earlyData: true }, /earlyData/],
    ["unix:/tmp/quicrpc-nobody", { trustedProxies: ["10.0.0.0/8"] }, /trustedProxies/],
  ])("serve: %s with %j", async (url, options, message) => {
    const error = await serve({ listen: [url], routers, ...options }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
  });

  it("certificates of clients that are not required may be asked for where some listeners cannot", async () => {
    const tls = await devCertificate();
    const clientCertificates = { ca: tls.cert, required: false };
    const listen = ["tcp://127.0.0.1:0", "tls://127.0.0.1:0"];
    open.push(await serve({ listen, tls, clientCertificates, routers }));
  });
});
