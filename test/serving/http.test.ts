// Plain HTTP at the listeners of a server, beside its sessions.
import { createFetchHandler, type HttpExtension, httpTransport, toNodeHandler } from "@quicrpc/http";
import { createRouter } from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { MemoryOnceStore } from "@quicrpc/durable";
import { devCertificate, dial, type Peer, serve, type Server, type ServeOptions } from "@quicrpc/node";
import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { type ClientHttp2Stream, connect as connectHttp2, type SecureClientSessionOptions } from "node:http2";
import { request as httpsRequest } from "node:https";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { once as onceMethods, onceRouter } from "../behaviour/once-service.js";
import { methods } from "../behaviour/service.js";
import { certificate } from "../../packages/quic/test/certificates.js";
import { trustOf } from "../../packages/node/test/trust.js";

const { nothing, wait } = methods;
const MESSAGE_PACK = "application/msgpack";

let server: Server | undefined;
let enter: () => void = () => {};
const entered = (): Promise<void> => new Promise((resolve) => (enter = resolve));
const router = createRouter(
  { nothing, wait },
  {
    nothing() {},
    async wait(input, { signal }) {
      enter();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return input;
    },
  },
);
afterEach(() => server?.close());

async function served(url: string, options: Partial<ServeOptions> = {}): Promise<string> {
  const http = toNodeHandler(createFetchHandler({ routers: [router] }));
  server = await serve({ listen: [url], routers: [router], tls: await devCertificate(), http, ...options });
  const { protocol, host } = new URL(server.urls.at(-1) as string);
  return `${protocol === "ws:" || protocol === "http:" ? "http:" : "https:"}//${host}`;
}

function send(url: string, headers: Record<string, string> = {}, body?: Uint8Array): Promise<number> {
  const method = body === undefined ? "GET" : "POST";
  const given = { method, headers: { "content-type": MESSAGE_PACK, ...headers }, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const sent = url.startsWith("https:") ? httpsRequest(url, given) : httpRequest(url, given);
    sent.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const QUIC = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["https://127.0.0.1:0/rpc"] : [];

describe.each(["ws://127.0.0.1:0/rpc", "wss://127.0.0.1:0/rpc", ...QUIC])("a server at %s", (listen) => {
  it("answers requests of HTTP, probes and sessions on one port", async () => {
    const base = await served(listen);
    expect(await send(`${base}/test.v1.Behaviour/nothing`, {}, new Uint8Array(0))).toBe(200);
    expect(await send(`${base}/test.v1.Behaviour/none`, {}, new Uint8Array(0))).toBe(404);
    expect([await send(`${base}/healthz`), await send(`${base}/readyz`)]).toEqual([200, 200]);
    const url = server?.urls[0] as string;
    const { hash } = await devCertificate();
    const session = await dial(url, trustOf(url, { hash }));
    await session.unary(nothing, undefined);
    await session.close();
  });
});

it("is not ready once a drain has begun, which waits for calls over HTTP", async () => {
  const base = await served("ws://127.0.0.1:0/");
  const begun = entered();
  const text = Uint8Array.of(0x81, 0xa4, 0x74, 0x65, 0x78, 0x74, 0xa0);
  const call = send(`${base}/test.v1.Behaviour/wait`, { "connect-timeout-ms": "300" }, text);
  await begun;
  const drained = server?.drain();
  expect(await call).toBe(504);
  await drained;
  server = undefined;
});

it("refuses pages whose own name resolves to this machine, without TLS", async () => {
  const base = await served("ws://127.0.0.1:0/");
  const rebound = { host: "evil.example", origin: "http://evil.example" };
  expect(await send(`${base}/test.v1.Behaviour/nothing`, rebound, new Uint8Array(0))).toBe(421);
});

it("has no place without a port of HTTP", async () => {
  const refused = "the options http and extensions require a quic:";
  await expect(served("tcp://127.0.0.1:0")).rejects.toThrow(refused);
  const tools: HttpExtension = { path: "/tools", start: () => async () => new Response() };
  await expect(serve({ listen: "tcp://127.0.0.1:0", routers: [router], extensions: [tools] })).rejects.toThrow(refused);
});

const SECURE = ["wss://127.0.0.1:0/rpc", ...QUIC];

describe.each(["ws://127.0.0.1:0/rpc", "http://127.0.0.1:0", ...SECURE])("a server at %s with http: true", (listen) => {
  it("serves its services, to whom authenticate lets in", async () => {
    const peers: Peer[] = [];
    const base = await served(listen, {
      http: true,
      async authenticate(peer) {
        if ((await peer.credentials) !== "good") throw new RpcError("unauthenticated", "who are you?");
        peers.push(peer);
      },
    });
    const call = (token: string): Promise<number> =>
      send(`${base}/test.v1.Behaviour/nothing`, { authorization: `Bearer ${token}` }, new Uint8Array(0));
    expect([await call("good"), await call("bad")]).toEqual([200, 401]);
    expect(peers).toMatchObject([{ transport: "http", path: "/test.v1.Behaviour/nothing", earlyData: false }]);
    expect(peers[0]?.remoteAddress?.host).toBe("127.0.0.1");
    expect(server?.stats()).toMatchObject({ authentications: 0, handlers: 0 });
  });

  it("serves requests that offer to go on in another protocol, such as HTTP/2, as if they did not", async () => {
    const { port, protocol } = new URL(await served(listen, { http: true }));
    const trust = { port: Number(port), host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
    const socket = protocol === "http:" ? connectTcp(trust) : connectTls(trust);
    const head = `POST /test.v1.Behaviour/nothing HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n`;
    const offer = "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nConnection: Upgrade, HTTP2-Settings";
    // The last closes the connection; the others leave it as it is.
    for (const fields of [offer, "X-A: b", `${offer}, close`]) socket.write(`${head}${fields}\r\n\r\n{}`);
    const answers = (await readText(socket)).match(/HTTP\/1\.1 \d+|\{\}/g);
    expect(answers).toEqual(Array.from({ length: 3 }, () => ["HTTP/1.1 200", "{}"]).flat());
  });
});

it("serves extensions next to the methods, with the server's own handler", async () => {
  const tools: HttpExtension = { path: "/tools", start: () => async () => new Response("tools") };
  const options = { listen: "http://127.0.0.1:0", routers: [router], extensions: [tools] };
  server = await serve(options);
  expect(await (await fetch(new URL("/tools", server.urls[0]))).text()).toBe("tools");
  expect(await send(new URL("/test.v1.Behaviour/nothing", server.urls[0]).href, {}, new Uint8Array(0))).toBe(200);
  await expect(serve({ ...options, http: false })).rejects.toThrow("pass them to createFetchHandler");
});

it("takes what the option adds, and the server's own limits", async () => {
  const base = await served("http://127.0.0.1:0", { http: { prefix: "/api" }, limits: { maxFrameBytes: 8 } });
  expect(await send(`${base}/api/test.v1.Behaviour/nothing`, {}, new Uint8Array(0))).toBe(200);
  expect(await send(`${base}/api/test.v1.Behaviour/wait`, {}, new Uint8Array(9))).toBe(429);
});

it("remembers calls that take effect once where the server does", async () => {
  const claimed: string[] = [];
  class Store extends MemoryOnceStore {
    override claim(...given: Parameters<MemoryOnceStore["claim"]>) {
      claimed.push("claimed");
      return super.claim(...given);
    }
  }
  const base = await served("http://127.0.0.1:0", {
    http: true,
    routers: [onceRouter()],
    advanced: { once: { store: new Store() } },
  });
  await httpTransport().caller(base).start(onceMethods.add, { name: "a", waitMs: 0 });
  expect(claimed).toEqual(["claimed"]);
});

it("names the client that a proxy speaks for, to authenticate and to onError", async () => {
  const seen: unknown[] = [];
  const base = await served("http://127.0.0.1:0", {
    http: true,
    authenticate: ({ remoteAddress }) => void seen.push(remoteAddress?.host),
    onError: (_, { peer }) => void seen.push(peer),
    routers: [createRouter({ nothing }, { nothing: () => Promise.reject(new Error("as asked")) })],
    advanced: { trustedProxies: ["127.0.0.0/8"] },
  });
  const socket = connectTcp(Number(new URL(base).port), "127.0.0.1");
  socket.write("PROXY TCP4 203.0.113.7 127.0.0.1 4000 80\r\n");
  const head = ["POST /test.v1.Behaviour/nothing HTTP/1.1", "host: 127.0.0.1", `content-type: ${MESSAGE_PACK}`];
  socket.write(`${[...head, "content-length: 0", "connection: close"].join("\r\n")}\r\n\r\n`);
  socket.resume();
  await once(socket, "close");
  expect(seen).toEqual(["203.0.113.7", "203.0.113.7"]);
});

/** Stops each decompression by the platform until its function in the returned list is called. */
function stopDecompressions(): (() => void)[] {
  const continued: (() => void)[] = [];
  const Platform = DecompressionStream;
  class Stopped {
    readonly readable: ReadableStream;
    readonly writable: WritableStream;

    constructor(format: CompressionFormat) {
      const { readable, writable } = new Platform(format);
      const start = (): Promise<void> => new Promise((resolve) => continued.push(resolve));
      this.readable = readable.pipeThrough(new TransformStream({ start }));
      this.writable = writable;
    }
  }
  vi.stubGlobal("DecompressionStream", Stopped);
  onTestFinished(() => void vi.unstubAllGlobals());
  return continued;
}

it("lets the clients that a proxy speaks for take turns of decompression", async () => {
  const continued = stopDecompressions();
  const called: string[] = [];
  const base = await served("https://127.0.0.1:0", {
    http: true,
    routers: [
      createRouter({ nothing, wait }, { nothing() {}, wait: (input) => (called.push(input.text), { text: "" }) }),
    ],
    advanced: { trustedProxies: ["127.0.0.0/8"] },
  });
  /** Calls over HTTP/2 on behalf of a client, and resolves when the server has read its messages. */
  const callAs = async (host: string, text: string, count: number): Promise<void> => {
    const socket = connectTcp(Number(new URL(base).port), "127.0.0.1");
    socket.write(`PROXY TCP4 ${host} 127.0.0.1 4000 443\r\n`);
    const createConnection = (): Socket => connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    const session = connectHttp2(base, { createConnection }).on("error", () => {});
    onTestFinished(() => session.destroy());
    const request = (method: string, fields: Record<string, string>, body: Uint8Array): ClientHttp2Stream => {
      const path = `/test.v1.Behaviour/${method}`;
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": MESSAGE_PACK, ...fields });
      return stream.on("error", () => {}).end(body);
    };
    const body = gzipSync(Uint8Array.of(0x81, 0xa4, ...Buffer.from("text"), 0xa0 + text.length, ...Buffer.from(text)));
    for (let i = 0; i < count; i++) request("wait", { "content-encoding": "gzip" }, body);
    // The server reads the requests of a connection in their order.
    await once(request("nothing", {}, new Uint8Array(0)), "response");
  };
  await callAs("203.0.113.7", "a", 19);
  await callAs("203.0.113.8", "b", 1);
  expect(continued).toHaveLength(16);
  for (const resume of continued) resume();
  await expect.poll(() => continued).toHaveLength(20);
  for (let count = 17; count <= 20; count++) {
    continued[count - 1]?.();
    await expect.poll(() => called).toHaveLength(count);
  }
  expect(called.slice(16)).toEqual(["a", "b", "a", "a"]);
});

it("http:// needs to know what answers", async () => {
  await expect(served("http://127.0.0.1:0", { http: false })).rejects.toThrow(/serve\(\{ http: true \}\)/);
});

/** The status of a request over HTTP/2, and what its connection said. */
async function sendHttp2(url: string, path: string, more: SecureClientSessionOptions = {}): Promise<unknown> {
  const session = connectHttp2(url, { rejectUnauthorized: false, ...more });
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": MESSAGE_PACK });
  stream.end();
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  stream.resume();
  await once(stream, "close");
  session.close();
  return headers[":status"];
}

describe.each(SECURE)("a server at %s over HTTP/2", (listen) => {
  it("answers beside HTTP/1.1, and closes connections when it ends", async () => {
    const base = await served(listen, { http: true });
    expect(await sendHttp2(base, "/test.v1.Behaviour/nothing")).toBe(200);
    expect(await sendHttp2(base, "/healthz")).toBe(200);
    expect(await send(`${base}/test.v1.Behaviour/nothing`, {}, new Uint8Array(0))).toBe(200);
    const idle = connectHttp2(base, { rejectUnauthorized: false });
    await once(idle, "connect");
    const closed = once(idle, "close");
    await server?.close();
    await closed;
  });
});

it("asks clients for certificates over HTTP as well", async () => {
  const authority = await certificate({ ca: true });
  const alice = await certificate({ issuer: authority, names: ["alice.example"] });
  const seen: (string | undefined)[] = [];
  const base = await served("wss://127.0.0.1:0/rpc", {
    http: true,
    authenticate: (peer) => void seen.push(peer.certificate?.subject),
    advanced: { clientCertificates: { ca: authority.cert } },
  });
  const path = "/test.v1.Behaviour/nothing";
  expect(await sendHttp2(base, path)).toBe(401);
  expect(await send(base + path, {}, new Uint8Array(0))).toBe(401);
  expect(await sendHttp2(base, path, { cert: alice.cert, key: alice.key })).toBe(200);
  expect(seen).toEqual(["CN=alice.example"]);
});

describe.each([
  ["HTTP/1.1", "http://127.0.0.1:0"],
  ["HTTP/2", "https://127.0.0.1:0"],
])("places of connections of %s", (version, listen) => {
  const open: { close(): unknown }[] = [];
  afterEach(() => {
    vi.useRealTimers();
    for (const connection of open.splice(0)) connection.close();
  });

  /** Makes one call on a connection of its own, which stays open. Rejects if a server without room refuses a connection of TLS. */
  async function callOnNew(base: string): Promise<{ status: number; isOpen: () => boolean }> {
    const path = "/test.v1.Behaviour/nothing";
    if (version === "HTTP/2") {
      const session = connectHttp2(base, { rejectUnauthorized: false });
      session.on("error", () => {});
      open.push(session);
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": MESSAGE_PACK });
      stream.end();
      const [headers] = (await once(stream, "response")) as [{ ":status": number }];
      stream.resume();
      await once(stream, "close");
      return { status: headers[":status"], isOpen: () => !session.closed };
    }
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    const sent = httpRequest(base + path, { agent, method: "POST", headers: { "content-type": MESSAGE_PACK } });
    const onSocket = once(sent, "socket") as Promise<[Socket]>;
    sent.end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    await once(answer, "end");
    const [socket] = await onSocket;
    return { status: answer.statusCode ?? 0, isOpen: () => !socket.destroyed };
  }

  it("go from the one that has been idle longest to a new one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const base = await served(listen, {
      http: true,
      advanced: { transport: { maxSessions: 2, maxSessionsPerAddress: 2 } },
    });
    const [first, second] = [await callOnNew(base), await callOnNew(base)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const third = (): Promise<unknown> =>
      callOnNew(base).then(
        ({ status }) => status,
        () => "refused",
      );
    expect(await third()).toBe(version === "HTTP/2" ? "refused" : 503);
    vi.advanceTimersByTime(5000);
    // A connection is idle once the server has noticed that it has sent the answer.
    await expect.poll(third).toBe(200);
    await vi.waitUntil(() => !first.isOpen());
    expect(second.isOpen()).toBe(true);
  });
});
