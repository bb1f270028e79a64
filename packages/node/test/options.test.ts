// What `serve`, `connect`, `dial` and `connectPool` say of options and URLs that are none, and where refusals can be seen.
import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import {
  connect,
  connectPool,
  devCertificate,
  dial,
  type Refusal,
  serve,
  type ServeOptions,
  type Server,
} from "@quicrpc/node";
import { describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { methods } from "../../../test/behaviour/service.js";
import { trustOf } from "./trust.js";
import { closedAfterEach } from "../../../test/open.js";

const { echo } = methods;
const routers = [createRouter({ echo }, { echo: (input) => input })];

const open = closedAfterEach();

async function served(options: object): Promise<Server> {
  const { cert, key } = await devCertificate();
  const server = await serve({ tls: { cert, key }, routers, ...options });
  open.push(server);
  return server;
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  const error: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(TypeError);
  return error as Error;
}

describe("options that are none are refused, with the name that was probably meant", () => {
  const URL = "quic://127.0.0.1:1";
  it.each([
    ["serve", "serve() has no option router: did you mean routers?", { router: [] }],
    ["serve", "serve() has no option onSesion: did you mean advanced.onSession?", { onSesion: () => {} }],
    ["serve", "serve() has no option ssl: did you mean tls?", { ssl: {} }],
    ["serve", "serve() has no option limits.maxCall: did you mean limits.maxCalls?", { limits: { maxCall: 1 } }],
    ["serve", "serve() has no option maxCalls: did you mean limits.maxCalls?", { maxCalls: 1 }],
    ["serve", "serve() has no option tls.certificate: did you mean tls.cert?", { tls: { certificate: "x" } }],
    ["serve", "serve() has no option tls.name: did you mean tls.names?", { tls: [{ name: "x" }] }],
    [
      "serve",
      "serve() has no option advanced.transport.maxSession: did you mean advanced.transport.maxSessions?",
      { advanced: { transport: { maxSession: 1 } } },
    ],
    [
      "serve",
      "serve() has no option advanced.clientCertificates.require: did you mean advanced.clientCertificates.required?",
      { advanced: { clientCertificates: { require: false } } },
    ],
    [
      "serve",
      "serve() has no option advanced.transport.handshakeTimeoutMs: did you mean limits.maxHandshakeMs?",
      { advanced: { transport: { handshakeTimeoutMs: 1 } } },
    ],
    ["dial", "dial() has no option advanced.transport.maxSessions", { advanced: { transport: { maxSessions: 1 } } }],
    ["serve", "serve() has no option secret: did you mean advanced.secret?", { secret: new Uint8Array(32) }],
    ["connect", "connect() has no option headers: did you mean advanced.headers?", { headers: {} }],
    [
      "dial",
      "dial() has no option advanced.transport.keepAliveIntervalMs: did you mean advanced.keepAlive?",
      { advanced: { transport: { keepAliveIntervalMs: 1 } } },
    ],
    [
      "dial",
      "dial() has no option advanced.transport.maxConcurrentStreams: did you mean advanced.transport.maxStreams?",
      { advanced: { transport: { maxConcurrentStreams: 1 } } },
    ],
    [
      "dial",
      "dial() has no option advanced.keepAlive.interval: did you mean advanced.keepAlive.intervalMs?",
      { advanced: { keepAlive: { interval: 1 } } },
    ],
    ["connect", "connect() has no option fallback.urls: did you mean fallback.url?", { fallback: { urls: [] } }],
    [
      "connect",
      "connect() has no option advanced.backoff.max: did you mean advanced.backoff.maxMs?",
      { advanced: { backoff: { max: 1 } } },
    ],
    [
      "connectPool",
      "connectPool() has no option outliers.ejection: did you mean outliers.ejectionMs?",
      { outliers: { ejection: 1 } },
    ],
    ["serve", "serve() has no option auth: did you mean authenticate?", { auth: () => undefined }],
    [
      "serve",
      "serve() has no option limits.maxMessageBytes: did you mean limits.maxFrameBytes?",
      { limits: { maxMessageBytes: 1 } },
    ],
    ["serve", "serve() has no option xyzzy", { xyzzy: 1 }],
    ["serve", "serve() has no option http.extensions: did you mean extensions?", { http: { extensions: [] } }],
    ["serve", "serve() has no option http.limits: did you mean limits?", { http: { limits: {} } }],
    ["serve", "serve() has no option http.xyzzy", { http: { xyzzy: 1 } }],
    ["serve", "serve() has no option http.openAPI: did you mean http.openApi?", { http: { openAPI: true } }],
    ["dial", "dial() has no option CA: did you mean ca?", { CA: "x" }],
    ["dial", "dial() has no option reconnect: connect() has it", { reconnect: false }],
    ["connect", "connect() has no option timeout: did you mean timeoutMs?", { timeout: 1 }],
    ["connect", "connect() has no option token: did you mean credentials?", { token: "x" }],
    [
      "connect",
      "connect() has no option serverCertificateHash: did you mean serverCertificateHashes?",
      { serverCertificateHash: [] },
    ],
    ["connect", "connect(): timeoutMs is a number, not a string", { timeoutMs: "3" }],
    ["serve", "serve(): limits.maxCalls is a number, not a string", { limits: { maxCalls: "3" } }],
    ["serve", "serve(): limits.maxCalls is a number from 0 on, not -1", { limits: { maxCalls: -1 } }],
    ["serve", "serve(): limits is an object, not 5", { limits: 5 }],
    ["serve", "serve(): advanced is an object, not null", { advanced: null }],
    ["serve", "serve(): authenticate is a function, not a string", { authenticate: "x" }],
    ["serve", "serve(): onError is a function, not an object", { onError: {} }],
    ["serve", "serve() has no option url: did you mean listen?", { url: "quic://[::]:4433" }],
    ["dial", "dial() has no option fallback: connect() has it", { fallback: {} }],
    [
      "connectPool",
      'balance is "roundrobin": it takes "roundRobin", "leastLoaded", "powerOfTwo" or a function',
      { balance: "roundrobin" },
    ],
    [
      "serve",
      "extensions[0] is not an extension: pass what mcp(), studio(), docsPage() or grpc() returns",
      { listen: "http://127.0.0.1:0", extensions: [{}] },
    ],
    [
      "serve",
      'serve() accepts either `listen` or `host` and `port`; with `listen` the port is part of the URL, as in "quic://[::]:4433"',
      { listen: "tcp://127.0.0.1:0", port: 4433 },
    ],
    [
      "serve",
      `${echo.service.name}/echo has two handlers: two routers of this service are given, or one twice`,
      { routers: [...routers, ...routers] },
    ],
    [
      "dial",
      'serverCertificateHashes must be a list of { algorithm: "sha-256", value: bytes }; to convert a hash in hex: Uint8Array.from(Buffer.from(hex.replaceAll(":", ""), "hex"))',
      { serverCertificateHashes: ["ab".repeat(32)] },
    ],
    ["connectPool", "connectPool() has no option balanced: did you mean balance?", { balanced: "roundRobin" }],
  ])("%s: %s", async (name, message, given) => {
    const options: object = given;
    const made = {
      serve: () => serve({ routers, ...options }),
      dial: () => dial(URL, options),
      connect: () => connect(URL, options),
      connectPool: () => connectPool([URL], options),
    }[name] as () => Promise<unknown>;
    expect((await failure(made())).message).toBe(message);
  });

  it("what is undefined counts as left out", async () => {
    const server = await served({ listen: "tcp://127.0.0.1:0", xyzzy: undefined });
    expect(server.urls).toHaveLength(1);
    const none = { fallback: undefined, reconnect: undefined, signal: AbortSignal.abort() };
    await expect(dial(server.urls[0] as string, none)).rejects.toMatchObject({ name: "AbortError" });
  });

  it("routers that are no list, or missing, are told by name", async () => {
    const { cert, key } = await devCertificate();
    const one = serve({ tls: { cert, key }, routers: routers[0] } as unknown as ServeOptions);
    expect((await failure(one)).message).toMatch(/^serve\(\) takes a list of routers: routers: \[/);
    expect((await failure(serve({} as ServeOptions))).message).toMatch(/^serve\(\) needs routers: \[/);
    expect((await failure(dial(URL, { routers: {} } as object))).message).toMatch(/^dial\(\) takes a list of routers/);
  });

  it("a router that is none is told", async () => {
    const wrong = [{}, undefined, () => {}] as unknown as ServeOptions["routers"];
    for (const router of wrong) {
      const { message } = await failure(serve({ listen: "tcp://127.0.0.1:0", routers: [...routers, router] }));
      expect(message).toBe("routers[1] is not a router: pass what createOrdersRouter(handlers) returns");
    }
  });

  it("tls that is missing is told with what there is to give", async () => {
    expect((await failure(serve({ routers }))).message).toMatch(
      /requires the option tls for quic:\/\/: .*devCertificate\(\)/,
    );
  });
});

describe("URLs", () => {
  it("listen takes one", async () => {
    const server = await served({ listen: "tcp://127.0.0.1:0" });
    expect(server.urls).toEqual([expect.stringMatching(/^tcp:\/\/127\.0\.0\.1:\d+$/)]);
  });

  it.each(["localhost:4433", "127.0.0.1:4433", "[::1]:4433", "orders.example", "orders.example:4433/rpc"])(
    "%s is answered with the URL that was probably meant",
    async (text) => {
      const hint = `"${text}" has no scheme: did you mean quic://${text}?`;
      expect((await failure(dial(text))).message).toBe(hint);
      expect((await failure(connect(text))).message).toBe(hint);
      expect((await failure(served({ listen: [text] }))).message).toBe(hint);
    },
  );

  it.each(["", "quic//localhost", "//"])("%j is said to be no URL", async (text) => {
    expect((await failure(dial(text))).message).toContain(`"${text}"`);
  });

  it.each(["quic://", "tls:///rpc", "quic:localhost:4433"])("%s is said to have no host", async (text) => {
    const hint = `"${text}" has no host: use a URL such as quic://localhost:4433`;
    expect((await failure(dial(text))).message).toBe(hint);
    expect((await failure(connect(text))).message).toBe(hint);
    expect((await failure(served({ listen: [text] }))).message).toBe(hint);
  });

  it("what is no text is told", async () => {
    expect((await failure(dial(4433 as unknown as string))).message).toMatch(/not number$/);
  });

  const engine = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic", "https"] : [];
  it.each([...engine, "tls", "wss", "tcp", "ws"].flatMap((scheme) => [`${scheme}://0.0.0.0:0`, `${scheme}://[::]:0`]))(
    "of a server that listens on %s lead clients to it",
    async (listen) => {
      const server = await served({ listen });
      const url = server.urls[0] as string;
      const connection = await connect(url, trustOf(url, await devCertificate()));
      open.push(connection);
      expect(await connection.unary(echo, { text: "here" })).toEqual({ text: "here" });
    },
  );
});

describe("refusals can be seen at the server, with the reason", () => {
  /** Returns the first refusal of `stage` that is reported while `work` runs. */
  async function refusal(stage: Refusal["stage"], work: () => Promise<unknown>): Promise<Refusal> {
    let onRefusal!: (refusal: unknown) => void;
    const told = new Promise<Refusal>((resolve) => {
      onRefusal = (refusal) => {
        if ((refusal as Refusal).stage === stage) resolve(refusal as Refusal);
      };
    });
    subscribe("quicrpc:refused", onRefusal);
    try {
      await work();
      return await told;
    } finally {
      unsubscribe("quicrpc:refused", onRefusal);
    }
  }

  const engine = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic"] : [];
  it.each([...engine, "tls", "tcp", "wss"])("of sessions by authenticate, over %s", async (scheme) => {
    const server = await served({
      listen: `${scheme}://127.0.0.1:0`,
      authenticate: () => {
        throw new RpcError("permission_denied", "not you");
      },
    });
    const url = server.urls[0] as string;
    const told = await refusal("session", async () => open.push(await dial(url, trustOf(url, await devCertificate()))));
    expect(told).toMatchObject({ stage: "session", listener: url, reason: "permission_denied: not you" });
    expect(told.remoteAddress?.host).toBe("127.0.0.1");
  });

  it.each([...engine, "tls", "wss"])("of handshakes, over %s", async (scheme) => {
    const server = await served({ listen: `${scheme}://127.0.0.1:0` });
    const { port } = server.address;
    const told = await refusal("handshake", async () => {
      if (scheme === "quic") {
        // It does not trust the certificate, and says so.
        await dial(server.urls[0] as string, {
          ca: (await devCertificate()).cert,
          advanced: { serverName: "other.example" },
        }).catch(() => {});
        return;
      }
      const socket = connectTls({ port, host: "127.0.0.1", ALPNProtocols: ["other/1"], rejectUnauthorized: false });
      socket.on("error", () => {});
      await new Promise((closed) => socket.once("close", closed));
    });
    expect(told.reason).not.toBe("");
    expect(told.remoteAddress?.host).toBe("127.0.0.1");
    expect(told.remoteAddress?.port).toBeGreaterThan(0);
    expect(told.listener).toMatch(new RegExp(`^${scheme}://127.0.0.1:${port}`));
  });

  it.each(["tls", "wss"])("of handshakes that a client breaks off, over %s: once, with its address", async (scheme) => {
    const server = await served({ listen: `${scheme}://127.0.0.1:0` });
    const url = server.urls[0] as string;
    const refusals: Refusal[] = [];
    const onRefusal = (refusal: unknown): void => void refusals.push(refusal as Refusal);
    subscribe("quicrpc:refused", onRefusal);
    try {
      await dial(url).catch(() => {});
      await vi.waitUntil(() => refusals.length > 0);
      open.push(await dial(url, trustOf(url, await devCertificate())));
      expect(refusals).toMatchObject([
        { stage: "handshake", listener: url, reason: "the connection ended during the TLS handshake" },
      ]);
      expect(refusals[0]?.remoteAddress?.host).toBe("127.0.0.1");
    } finally {
      unsubscribe("quicrpc:refused", onRefusal);
    }
  });

  it.each([...engine.map(() => "https"), "ws", "wss"])("of requests for another path, over %s", async (scheme) => {
    const server = await served({ listen: `${scheme}://127.0.0.1:0/rpc` });
    const url = (server.urls[0] as string).replace("/rpc", "/other");
    const told = await refusal("request", async () => {
      if (scheme === "https") return dial(url, trustOf(url, await devCertificate())).catch(() => {});
      const socket = new WebSocket(url, ["quicrpc.v1"], { rejectUnauthorized: false });
      socket.on("error", () => {});
      return new Promise((closed) => socket.once("close", closed));
    });
    expect(told.reason).toMatch(/\/other: status 404/);
    expect(told.remoteAddress?.host).toBe("127.0.0.1");
  });

  it("a name that QUICRPC_DEBUG has not is a warning", async () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", 'import "@quicrpc/node"'], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      env: { ...process.env, QUICRPC_DEBUG: "refused,1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    for await (const chunk of child.stderr) text += String(chunk);
    expect(text).toContain("QUICRPC_DEBUG takes open and refused, not 1");
  });

  it("QUICRPC_DEBUG=refused writes them to stderr", { timeout: 30_000 }, async () => {
    const program = `
      import { subscribe } from "node:diagnostics_channel";
      import { connect, devCertificate, dial, serve } from "@quicrpc/node";
      const listen = ["tcp://127.0.0.1:0", ${JSON.stringify(engine.map(() => "quic://127.0.0.1:0")).slice(1, -1)}];
      const tls = listen.length > 1 ? await devCertificate() : undefined;
      const server = await serve({ listen, tls, routers: [], authenticate: () => { throw new Error("a bug"); }, onError: () => {} });
      const connection = await connect(server.urls[0], { reconnect: false });
      await connection.closed;
      const refused = new Promise((resolve) => subscribe("quicrpc:refused", resolve));
      // It does not trust the certificate, and says so.
      if (tls) await Promise.all([refused, dial(server.urls[1]).catch(() => {})]);
      await server.close();
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      env: { ...process.env, QUICRPC_DEBUG: "refused" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    for await (const chunk of child.stderr) text += String(chunk);
    expect(text).toMatch(
      /quicrpc: tcp:\/\/127\.0\.0\.1:\d+ refused the session of 127\.0\.0\.1 port \d+: internal: the server could not accept the session/,
    );
    if (engine.length > 0) {
      expect(text).toMatch(/quicrpc: quic:\/\/127\.0\.0\.1:\d+ refused the handshake of 127\.0\.0\.1 port \d+: /);
    }
  });
});
