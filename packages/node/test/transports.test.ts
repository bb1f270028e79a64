import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Code, createCaller, RpcError } from "@quicrpc/core";
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import { createRouter, defineMethod, type MethodDescriptor, uncheckedCodec } from "@quicrpc/core/generated";
import {
  connect,
  connectPool,
  devCertificate,
  dial,
  serve,
  type ServeOptions,
  type TransportProvider,
} from "@quicrpc/node";
import { callsOf } from "@quicrpc/node/transport";
import { describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../test/open.js";

/** Tests of what `serve`, `connect` and `dial` require of a transport, and refuse where it cannot carry that. */

const number = uncheckedCodec<number>();
const methods = {
  double: defineMethod({ name: "test.v1.Transports", id: 7011 }, "unary", "double", {
    id: 1,
    input: number,
    output: number,
  }),
};
const routers = [createRouter(methods, { double: (n) => n * 2 })];

const open = closedAfterEach();

const NOBODY = {
  remoteAddress: undefined,
  headers: new Headers(),
  path: undefined,
  origin: undefined,
  certificate: undefined,
  earlyData: false,
  handshake: Promise.resolve(),
};

/** A transport of an application's own: sessions within the process, by the host of the URL. */
function inProcess(): TransportProvider {
  const listeners = new Map<string, (server: DirectSession) => void>();
  return {
    name: "this process",
    schemes: ["here:"],
    capabilities: { sessions: true, streams: true, datagrams: true },
    dial: async ({ host }) => {
      const [client, server] = createMemoryPair();
      const limiter = listeners.get(host);
      if (limiter === undefined) throw new Error(`nobody listens on here://${host}`);
      limiter(server);
      return client;
    },
    listen: async ({ host = "" }, { limits }, onIncoming) => {
      const url = `here://${host}`;
      listeners.set(host, (transport) =>
        onIncoming({
          transport,
          peer: { ...NOBODY, transport: "here", listener: url },
          pending: {
            remainingMs: limits.maxHandshakeMs,
            arrived: () => {},
            onGone: () => {},
            admit: () => true,
            refuse: () => {},
          },
        }),
      );
      const stop = (): void => void listeners.delete(host);
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
      routers,
      authenticate: ({ transport }) => void kinds.push(transport),
      advanced: { transports },
    });
    open.push(server);
    expect(server.urls[0]).toBe("here://orders");
    for (const url of server.urls) {
      const connection = await connect(url, { advanced: { transports } });
      open.push(connection);
      expect(await connection.unary(methods.double, 21)).toBe(42);
    }
    const session = await dial("here://orders", { advanced: { transports } });
    open.push(session);
    expect(await session.unary(methods.double, 4)).toBe(8);
    expect(kinds).toEqual(["here", "tcp", "here"]);
  });

  it("comes before a built-in one of its scheme", async () => {
    const transports = [{ ...inProcess(), schemes: ["quic:"] }];
    const server = await serve({ listen: ["quic://orders"], routers, advanced: { transports } });
    open.push(server);
    const session = await dial("quic://orders", { advanced: { transports } });
    open.push(session);
    expect(await session.unary(methods.double, 1)).toBe(2);
  });

  it("is named among the schemes of the refusal of a URL that nobody takes", async () => {
    const dialled = dial("gopher://localhost", { advanced: { transports: [inProcess()] } });
    await expect(dialled).rejects.toThrow(/^gopher:\/\/ is not a known transport: .*here:\/\/, quic:\/\/, https:\/\//);
    await expect(serve({ listen: ["gopher://localhost"], routers })).rejects.toThrow(
      /^gopher:\/\/ is not a known transport/,
    );
  });
});

/** Calls by HTTP/1.1 and JSON: a transport that has no sessions. */
const jsonOverHttp: TransportProvider = {
  name: "JSON over HTTP",
  schemes: ["http:"],
  capabilities: { streams: true, datagrams: true, headers: true },
  defaultPort: 80,
  dial: async (url, { credentials = "" }) => {
    let end!: (end: { closeCode: number; reason: string; error: undefined }) => void;
    const closed = new Promise<{ closeCode: number; reason: string; error: undefined }>((resolve) => (end = resolve));
    const caller = createCaller(async (method, input) => {
      const response = await fetch(`${url.origin}/${method.service.name}/${method.name}`, {
        method: "POST",
        headers: { authorization: credentials },
        body: JSON.stringify(input),
      });
      const answer = (await response.json()) as { code: Code; message: string } | { output: unknown };
      if ("code" in answer) throw new RpcError(answer.code, answer.message);
      return answer.output;
    });
    const close = ({ closeCode = 0, reason = "" } = {}): void => end({ closeCode, reason, error: undefined });
    return Object.assign(caller, { closed, close });
  },
  listen: async ({ host, port }, { methods: served, limits }, onIncoming) => {
    const http = createHttpServer((request, response) => {
      void (async () => {
        const method = served.find(({ service, name }) => request.url === `/${service.name}/${name}`);
        const calls = callsOf(
          {
            credentials: request.headers.authorization,
            peer: { ...NOBODY, transport: "http", listener: url },
            pending: { remainingMs: limits.maxHandshakeMs, arrived() {}, onGone() {}, admit: () => true, refuse() {} },
          },
          onIncoming,
        );
        try {
          if (method === undefined) throw new RpcError("unimplemented", "no such method");
          const input: unknown = JSON.parse(await text(request));
          const output: unknown = await calls.start(method as MethodDescriptor<"unary">, input);
          response.end(JSON.stringify({ output }));
        } catch (error) {
          const { code, message } = RpcError.from(error);
          response.end(JSON.stringify({ code, message }));
        } finally {
          await calls.close();
        }
      })();
    });
    await new Promise<void>((listening) => http.listen(port, host, listening));
    const address = { host: host ?? "", port: (http.address() as AddressInfo).port };
    const url = `http://${address.host}:${address.port}`;
    const stop = (): void => void http.close();
    const close = async (): Promise<void> => http.closeAllConnections();
    return [{ url, address, stop, close, ref: () => {}, unref: () => {} }];
  },
};

describe("a transport that carries calls and no sessions", () => {
  async function served(options: Partial<ServeOptions> = {}): Promise<string> {
    const server = await serve({
      listen: ["http://127.0.0.1:0"],
      routers,
      ...options,
      advanced: { transports: [jsonOverHttp], ...options.advanced },
    });
    open.push(server);
    return server.urls[0] as string;
  }

  it("answers calls of connect, dial and connectPool by the server's routers, whom authenticate lets in", async () => {
    const kinds: string[] = [];
    const url = await served({
      authenticate: async ({ transport, credentials }) => {
        kinds.push(transport);
        if ((await credentials) !== "alice") throw new RpcError("permission_denied", "not you");
      },
    });
    const options = { advanced: { transports: [jsonOverHttp] }, credentials: () => "alice" };
    const clients = [await dial(url, options), await connect(url, options), await connectPool([url], options)];
    open.push(...clients);
    for (const client of clients) expect(await client.unary(methods.double, 21)).toBe(42);
    expect(kinds).toEqual(["http", "http", "http"]);
    const mallory = await dial(url, { ...options, credentials: "mallory" });
    open.push(mallory);
    await expect(mallory.unary(methods.double, 1)).rejects.toMatchObject({ code: "permission_denied" });
  });

  it("refuses routers of a client, and has neither streams nor pings", async () => {
    const url = await served();
    const serving = dial(url, { routers, advanced: { transports: [jsonOverHttp] } });
    await expect(serving).rejects.toThrow(
      /^the option routers cannot travel to http:\/\/127\.0\.0\.1:\d+ by JSON over HTTP, which only lets the client make calls/,
    );
    const session = await dial(url, { advanced: { transports: [jsonOverHttp] } });
    await expect(session.ping()).rejects.toMatchObject({ code: "unimplemented" });
    expect(await session.drain()).toMatchObject({ closeCode: 0, unacknowledged: 0 });
    expect(session.takesCalls).toBe(false);
    await session.closed;
  });
});

describe("what a transport cannot carry is refused, not dropped", () => {
  const hash = { algorithm: "sha-256", value: new Uint8Array(32) } as const;
  it.each([
    ["quic://127.0.0.1:1", { advanced: { headers: { authorization: "a" } } }, /headers.*quic:\/\/.*no header fields/],
    ["tls://127.0.0.1:1", { advanced: { headers: {} } }, /headers.*tls:\/\//],
    ["tcp://127.0.0.1:1", { ca: "x" }, /ca.*tcp:\/\/.*no TLS/],
    ["ws://127.0.0.1:1", { serverCertificateHashes: [hash] }, /serverCertificateHashes.*ws:\/\//],
    ["unix:/tmp/nobody", { advanced: { serverName: "a" } }, /serverName.*unix:/],
    ["tcp://127.0.0.1:1", { cert: "x", key: "y" }, /cert .*tcp:\/\//],
    ["wss://127.0.0.1:1", { advanced: { earlyData: true } }, /earlyData.*wss:\/\//],
    ["https://127.0.0.1:1", { advanced: { earlyData: true } }, /earlyData.*https:\/\//],
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
    ["tcp://127.0.0.1:0", { advanced: { clientCertificates: { ca: "x" } } }, /clientCertificates.*tcp:\/\//],
    ["tcp://127.0.0.1:0", { advanced: { earlyData: true } }, /earlyData/],
    ["unix:/tmp/quicrpc-nobody", { advanced: { trustedProxies: ["10.0.0.0/8"] } }, /trustedProxies/],
  ])("serve: %s with %j", async (url, options, message) => {
    const error = await serve({ listen: [url], routers, ...options }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
  });

  it("certificates of clients that are not required may be asked for where some listeners cannot", async () => {
    const tls = await devCertificate();
    const clientCertificates = { ca: tls.cert, required: false };
    const listen = ["tcp://127.0.0.1:0", "tls://127.0.0.1:0"];
    open.push(await serve({ listen, tls, routers, advanced: { clientCertificates } }));
  });
});
