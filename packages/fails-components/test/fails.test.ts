import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type SecureClientSessionOptions,
} from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RpcError, type Session } from "@quicrpc/core";
import { failsTransport, http2Transport } from "@quicrpc/fails-components";
import {
  connect,
  devCertificate,
  type DevCertificate,
  dial,
  type Peer,
  serve,
  type DialOptions,
  type ServeOptions,
  type Server,
} from "@quicrpc/node";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { certificate as issue } from "../../quic/test/certificates.js";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { collect } from "../../../test/behaviour/tools.js";

/** `@fails-components/webtransport` as a transport: what it would do by itself, and does not here. */

let certificate: DevCertificate;
let witness: Witness;
let server: Server | undefined;
const open: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  certificate = await devCertificate();
});
beforeEach(() => {
  witness = new Witness();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  await server?.close();
  server = undefined;
});

async function serving(options: Partial<ServeOptions> = {}): Promise<number> {
  server = await serve({
    listen: ["https://127.0.0.1:0/rpc"],
    tls: { cert: certificate.cert, key: certificate.key },
    routers: [behaviourRouter(witness)],
    ...options,
    advanced: { transports: [failsTransport()], ...options.advanced },
  });
  return server.address.port;
}

async function dialling(port: number, path: string = "/rpc", options: DialOptions = {}): Promise<Session> {
  const trust = { serverCertificateHashes: [certificate.hash] };
  const session = await dial(`https://127.0.0.1:${port}${path}`, {
    ...trust,
    ...options,
    advanced: { transports: [failsTransport()], ...options.advanced },
  });
  open.push(session);
  return session;
}

/** A client that sends what it likes, after a request that is answered as it should be. */
async function rawStream(
  port: number,
  headers: object = {},
  options: SecureClientSessionOptions = {},
): Promise<{ stream: ClientHttp2Stream; status: number }> {
  const client = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    settings: { enableConnectProtocol: true },
    ...options,
  });
  client.on("error", () => {});
  open.push({ close: async () => client.destroy() });
  await once(client, "remoteSettings");
  const stream = client.request(
    {
      ":method": "CONNECT",
      ":protocol": "webtransport",
      ":scheme": "https",
      ":path": "/rpc",
      "wt-available-protocols": '"quicrpc.v1.stream"',
      ...headers,
    },
    { endStream: false },
  );
  stream.on("error", () => {});
  const [answer] = (await once(stream, "response")) as [{ ":status": number }];
  return { stream, status: answer[":status"] };
}

describe("flow", () => {
  it("passes 16 KiB by far, both ways, in one call and in many", async () => {
    const client = await dialling(await serving());
    const text = "x".repeat(2_000_000);
    for (let i = 0; i < 10; i++) expect(await client.unary(methods.echo, { text })).toEqual({ text });
    // More than the streams of a session's lifetime.
    const calls = Array.from({ length: 500 }, (_, i) =>
      client.unary(methods.echo, { text: `${i}` }, { via: "stream" }),
    );
    expect(await Promise.all(calls)).toHaveLength(500);
  });

  it("a client that is being authenticated is held back", async () => {
    let admit!: (value: unknown) => void;
    const admitted = new Promise((resolve) => (admit = resolve));
    const client = await dialling(await serving({ authenticate: () => admitted }));
    const calls = Array.from({ length: 5 }, () => client.unary(methods.echo, { text: "x".repeat(1_000_000) }));
    const stream = Reflect.get(client.transport, "bytes") as object;
    await expect.poll(() => Reflect.get(stream, "queued")).toBeGreaterThan(3_000_000);
    expect(Reflect.get(stream, "untaken")).toBeLessThanOrEqual(1024 * 1024);
    admit(undefined);
    expect(await Promise.all(calls)).toHaveLength(5);
  });
});

describe("requests", () => {
  it("the query belongs to no path, and reaches authenticate", async () => {
    const peers: Peer[] = [];
    const port = await serving({ advanced: { onSession: (_, peer) => void peers.push(peer) } });
    await dialling(port, "/rpc?token=a");
    expect(peers).toMatchObject([{ transport: "webtransport-http2", path: "/rpc?token=a", origin: undefined }]);
    expect(peers[0]?.remoteAddress?.host).toBe("127.0.0.1");
  });

  it("headers of the client reach authenticate, which may refuse with a status", async () => {
    const port = await serving({
      authenticate: ({ headers }) => {
        if (headers.get("authorization") !== "me") throw new RpcError("unauthenticated", "not you");
      },
    });
    const stranger = await dialling(port);
    expect(await failure(stranger.unary(methods.echo, { text: "" }))).toMatchObject({ code: "unauthenticated" });
    const friend = await dialling(port, "/rpc", { advanced: { headers: { authorization: "me" } } });
    expect(await friend.unary(methods.echo, { text: "a" })).toEqual({ text: "a" });
  });

  it.each([
    ["another path", { ":path": "/other" }, 404],
    ["another protocol", { "wt-available-protocols": '"chat"' }, 400],
    ["an origin that is not allowed", { origin: "https://evil.example" }, 403],
    ["an origin over which the test throws", { origin: "https://odd.example" }, 500],
    ["an origin that is allowed", { origin: "https://good.example" }, 200],
  ])("%s is answered", async (_, headers, status) => {
    const thrown: unknown[] = [];
    const port = await serving({
      onError: (error) => void thrown.push(error),
      allowedOrigins: (origin) => {
        if (origin.includes("odd")) throw new Error("a mistake of the application");
        return origin.includes("good");
      },
    });
    expect((await rawStream(port, headers)).status).toBe(status);
    expect(thrown).toMatchObject(status === 500 ? [{ message: "a mistake of the application" }] : []);
  });

  it("a client learns that it was refused, and with which status", async () => {
    const port = await serving();
    expect(await failure(dialling(port, "/other"))).toMatchObject({
      code: "ERR_FAILS_REFUSED",
      cause: { status: 404 },
    });
    const connecting = connect(`https://127.0.0.1:${port}/other`, {
      serverCertificateHashes: [certificate.hash],
      advanced: { transports: [failsTransport()] },
    });
    expect(await failure(connecting)).toMatchObject({ cause: { status: 404 } });
  });

  it("nobody there, and a certificate that is not trusted, are told apart", async () => {
    const port = await serving({ listen: [`https://127.0.0.1:${await freePort()}/rpc`] });
    const untrusted = dial(`https://127.0.0.1:${port}/rpc`, {
      advanced: { transports: [failsTransport()] },
    });
    expect(await failure(untrusted)).toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    const other = { ...certificate.hash, value: new Uint8Array(32) };
    const unpinned = dialling(port, "/rpc", { serverCertificateHashes: [other] });
    expect(await failure(unpinned)).toMatchObject({ code: "ERR_TLS_CERTIFICATE_HASH_MISMATCH" });
    await server?.close();
    expect(await failure(dialling(port))).toMatchObject({ code: "ECONNREFUSED" });
  });

  it.each(["ca", "cert", "serverName"])("the option %s, which the package has not, is refused", async (name) => {
    const dialled = dial("https://127.0.0.1:1/rpc", { [name]: "x", advanced: { transports: [failsTransport()] } });
    expect(await failure(dialled)).toBeInstanceOf(TypeError);
  });

  it("a hash counts though an authority has signed another certificate", async () => {
    const authority = await issue({ ca: true });
    const { cert, key } = await issue({ issuer: authority });
    const port = await serving({ tls: { cert, key } });
    const roots = join(await mkdtemp(join(tmpdir(), "quicrpc-")), "roots.pem");
    await writeFile(roots, authority.cert);
    const script = `
      import { failsTransport } from "@quicrpc/fails-components";
      import { dial } from "@quicrpc/node";
      for (const serverCertificateHashes of [undefined, [{ algorithm: "sha-256", value: new Uint8Array(32) }]]) {
        const options = { advanced: { transports: [failsTransport()] }, ...(serverCertificateHashes && { serverCertificateHashes }) };
        await dial("https://localhost:${port}/rpc", options).then(
          async (session) => { console.error("RESULT taken"); await session.close(); },
          ({ code }) => console.error("RESULT", code),
        );
      }
    `;
    // It ends by itself: nothing of a session is left. And the package writes nothing to stdout, which may be a session.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      env: { ...process.env, NODE_EXTRA_CA_CERTS: roots },
    });
    expect(stdout).toBe("");
    const results = stderr.split("\n").filter((line) => line.startsWith("RESULT"));
    expect(results).toEqual(["RESULT taken", "RESULT ERR_TLS_CERTIFICATE_HASH_MISMATCH"]);
  });
});

describe("peers that break the rules", () => {
  const [STREAM, CLOSE] = [
    [0x99, 0x0b, 0x4d, 0x3b],
    [0x68, 0x43],
  ];

  it.each([
    ["a close that is too short", [...CLOSE, 0, 0x80, 0, 0, 0, 0]],
    ["a stream of the server's own", [...STREAM, 2, 0, 1]],
    ["a stream after the close", [...CLOSE, 4, 0, 0, 0, 0, ...STREAM, 2, 1, 1]],
    ["two streams", [...STREAM, 1, 1, ...STREAM, 1, 5]],
    ["a stream of one direction", [...STREAM, 1, 3]],
    ["more than it may", [...STREAM, 5, 1, 0x80, 0x10, 0x00, 0x01]],
  ])("%s costs its session, and nothing else", async (_, bytes) => {
    const port = await serving();
    const { stream, status } = await rawStream(port);
    expect(status).toBe(200);
    stream.write(Buffer.from(bytes));
    stream.resume();
    await closing(stream);
    const client = await dialling(port);
    expect(await client.unary(methods.echo, { text: "a" })).toEqual({ text: "a" });
  });

  it("datagrams, which nobody reads, do not gather", async () => {
    const { stream } = await rawStream(await serving());
    const queue = vi.spyOn(ReadableStreamDefaultController.prototype, "enqueue");
    onTestFinished(() => queue.mockRestore());
    const queued = (): ReadableStreamDefaultController[] => {
      const queues = queue.mock.contexts as ReadableStreamDefaultController[];
      return queues.filter((_, call) => String(queue.mock.calls[call]?.[0]) === "1,2");
    };
    for (let i = 0; i < 100; i++) stream.write(Buffer.from([0, 2, 1, 2]));
    await vi.waitUntil(() => queued().length === 100);
    await new Promise(setImmediate);
    // Its high-water mark: none waits.
    expect(new Set(queued().map(({ desiredSize }) => desiredSize))).toEqual(new Set([1]));
    expect(stream.closed).toBe(false);
  });

  it("a connection without a session is let go of", async () => {
    const port = await serving({ limits: { maxHandshakeMs: 50 } });
    const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    client.on("error", () => {});
    await closing(client);
  });

  it("a session without a stream is let go of", async () => {
    // As long as a busy machine may take to open the session.
    const port = await serving({ limits: { maxHandshakeMs: 2000 } });
    const { stream } = await rawStream(port);
    stream.resume();
    await closing(stream);
  });
});

describe("one port number for everything", () => {
  async function together(options: Partial<ServeOptions> = {}): Promise<number> {
    return serving({ webSocket: true, ...options, advanced: { transports: [http2Transport()], ...options.advanced } });
  }

  it("QUIC's WebTransport, WebTransport over HTTP/2 and WebSocket, with one certificate, authentication and drain", async () => {
    const listen = [`https://127.0.0.1:${await freePort()}/rpc`];
    const port = await together({ authenticate: ({ transport }) => transport, listen });
    const trust = { serverCertificateHashes: [certificate.hash] };
    const clients = await Promise.all([
      dial(`https://127.0.0.1:${port}/rpc`, trust),
      dialling(port),
      dial(`wss://127.0.0.1:${port}/rpc`, trust),
    ]);
    open.push(...clients);
    for (const client of clients) expect(await collect(client.serverStream(methods.items, { n: 3 }))).toHaveLength(3);
    const ends = Promise.all(clients.map(({ closed }) => closed));
    await server?.drain();
    expect(await ends).toMatchObject([{ closeCode: 0 }, { closeCode: 0 }, { closeCode: 0 }]);
    expect(await failure(dialling(port))).toMatchObject({ code: "ECONNREFUSED" });
  });

  it("the limit of sessions holds", async () => {
    const port = await together({ advanced: { transport: { maxSessions: 1 } } });
    const first = await rawStream(port);
    expect(first.status).toBe(200);
    const session = await dialling(port);
    expect(await session.unary(methods.echo, { text: "a" })).toEqual({ text: "a" });
    const second = (first.stream.session as ClientHttp2Session).request({
      ":method": "CONNECT",
      ":protocol": "webtransport",
      ":scheme": "https",
      ":path": "/rpc",
      "wt-available-protocols": '"quicrpc.v1.stream"',
    });
    expect((await once(second, "response"))[0]).toMatchObject({ ":status": 503 });
  });

  it("a client's certificate is seen", async () => {
    const authority = await issue({ ca: true });
    const own = await issue({ issuer: authority });
    const alice = await issue({ issuer: authority, names: ["alice.example"] });
    const seen: (string | undefined)[] = [];
    const port = await together({
      tls: { cert: own.cert, key: own.key },
      advanced: {
        clientCertificates: { ca: authority.cert },
        onSession: (_, peer) => void seen.push(peer.certificate?.subject),
      },
    });
    await rawStream(port, {}, { cert: alice.cert, key: alice.key });
    expect(seen).toEqual(["CN=alice.example"]);
  });
});

/** Unlike `once`, which rejects at an error before it. */
function closing(emitter: { once(event: "close", listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => void emitter.once("close", resolve));
}

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("it went well");
    },
    (error: unknown) => error,
  );
}
