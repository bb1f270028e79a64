// Plain HTTP/3 at the UDP port of a server: by requests that a test writes, and by aioquic, which nobody here wrote.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect as connectHttp2 } from "node:http2";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { RpcError } from "@quicrpc/core";
import { createFetchHandler, httpTransport, toNodeHandler } from "@quicrpc/http";
import { devCertificate, dial, type Peer, serve, type Server, type ServeOptions } from "@quicrpc/node";
import { connect, type QuicSession } from "@quicrpc/quic";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createHttpClient, httpMethods } from "../../packages/http/test/generated/http.js";
import { newRouter, type Seen } from "../../packages/http/test/service.js";
import { frame } from "../../packages/quic/test/http3-bytes.js";
import { Http3Client } from "../../packages/quic/test/http3-client.js";
import { http3Fetch } from "../http3-fetch.js";

const BASE = "/test.v1.Http/";
// H3_MESSAGE_ERROR and H3_REQUEST_REJECTED (RFC 9114 §8.1).
const RESET_MALFORMED = "reset 270";
const RESET_REJECTED = "reset 267";
const { hash, cert, key } = await devCertificate();
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const open: { close(): unknown }[] = [];
let server: Server;
let seen: Seen;
let changed: () => void = () => {};
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function serving(options: Partial<ServeOptions> = {}): Promise<string> {
  seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: () => changed() };
  const given = { listen: ["https://127.0.0.1:0/rpc"], routers: [newRouter(seen)], tls: { cert, key }, http: true };
  server = await serve({ ...given, ...options });
  open.push(server);
  return `https://127.0.0.1:${server.address.port}`;
}

/** Fulfils when `holds` does, which is asked after each change of `seen`. */
function until(holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    changed = () => {
      if (holds()) resolve();
    };
    changed();
  });
}

function fetching(): ReturnType<typeof http3Fetch> {
  const fetch = http3Fetch(hash);
  open.push(fetch);
  return fetch;
}

function clientOf(base: string, credentials?: string): ReturnType<typeof createHttpClient> {
  const transport = httpTransport({ fetch: fetching(), uploads: "full", ...(credentials && { credentials }) });
  return createHttpClient(transport.caller(base));
}

/** A connection that writes its HTTP/3 by hand. */
async function raw(): Promise<[Http3Client, QuicSession]> {
  const tls = { serverCertificateHashes: [hash] };
  const session = await connect({ host: "127.0.0.1", port: server.address.port, alpn: ["h3"], tls });
  open.push(session);
  return [new Http3Client(session, {}), session];
}

function post(path: string, more: Record<string, string> = {}): Record<string, string> {
  const pseudo = { ":method": "POST", ":scheme": "https", ":authority": "127.0.0.1", ":path": BASE + path };
  return { ...pseudo, "content-type": "application/json", ...more };
}

const json = (value: unknown): number[] => frame(0, [...Buffer.from(JSON.stringify(value))]);

describe("a server with http: true over HTTP/3", () => {
  it("answers calls of every kind, and probes", async () => {
    const base = await serving();
    const client = clientOf(base);
    expect(await client.change({ text: "x".repeat(300_000) })).toEqual({ text: "x".repeat(300_000) });
    expect(await all(client.items({ n: 3 }))).toEqual([{ i: 0 }, { i: 1 }, { i: 2 }]);
    expect(await client.sum([1, 2, 3])).toBe(6);
    await client.note({ text: "hello" });
    await until(() => seen.notes.length === 1);
    const [http3] = await raw();
    const probe = { ":method": "GET", ":scheme": "https", ":authority": "a" };
    expect((await http3.connect({ ...probe, ":path": "/healthz" }, [], true).answer()).body.toString()).toBe("ok\n");
    expect((await http3.connect({ ...probe, ":path": "/readyz" }, [], true).answer()).fields.get(":status")).toBe(
      "200",
    );
    const head = { ...probe, ":method": "HEAD", ":path": `${BASE}echo?message=%7B%22text%22%3A%22a%22%7D` };
    const { fields, body } = await http3.connect(head, [], true).answer();
    expect([fields.get(":status"), body.length]).toEqual(["200", 0]);
    const answer = await http3.connect(post("change"), json({ text: "a" }), true).answer();
    expect(JSON.parse(answer.body.toString())).toEqual({ text: "a" });
    const missing = await http3.connect(post("none"), json({}), true).answer();
    expect(missing.fields.get(":status")).toBe("404");
  });

  it("asks authenticate of each request, with who it is", async () => {
    const peers: Peer[] = [];
    const base = await serving({
      async authenticate(peer) {
        if ((await peer.credentials) !== "good") throw new RpcError("unauthenticated", "who are you?");
        peers.push(peer);
      },
    });
    await clientOf(base, "good").nothing();
    await expect(clientOf(base, "bad").nothing()).rejects.toMatchObject({ code: "unauthenticated" });
    expect(peers).toMatchObject([{ transport: "http", path: `${BASE}nothing`, listener: `${base}/rpc` }]);
    expect(peers[0]?.remoteAddress?.host).toBe("127.0.0.1");
  });

  it("tells handlers of clients that are gone, however they go", async () => {
    await serving();
    const [client, session] = await raw();
    const calls = [0, 1, 2].map(() => client.connect(post("wait"), json({}), true));
    await until(() => seen.waiting === 3);
    calls[0]?.stream.stopSending(0x10c);
    await until(() => seen.aborted.length === 1);
    session.close();
    await until(() => seen.aborted.length === 3);
    expect(seen.aborted).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  it("holds a stream of answers back that its client does not read", async () => {
    await serving({ limits: { maxSessionBytes: 100_000 } });
    const [client] = await raw();
    const request = client.connect(post("endless", { "content-type": "application/connect+json" }), [
      ...frame(0, [0, 0, 0, 0, 2, 0x7b, 0x7d]),
    ]);
    request.stream.pause();
    request.stream.write(new Uint8Array(0), true);
    await until(() => seen.given > 0);
    // It gives what windows and buffers take, and then nothing.
    let given = -1;
    while (given !== seen.given) {
      given = seen.given;
      await clientOf(`https://127.0.0.1:${server.address.port}`).nothing();
    }
    request.stream.reset(0x10c);
    request.stream.stopSending(0x10c);
    await until(() => seen.aborted.length === 1);
  });

  it("refuses bodies that are too large, and answers before they have ended", async () => {
    await serving({ limits: { maxFrameBytes: 1000 } });
    const [client] = await raw();
    const request = client.connect(post("change"), json({ text: "x".repeat(2000) }));
    const { fields, body } = await request.answer();
    expect(fields.get(":status")).toBe("429");
    expect(JSON.parse(body.toString())).toMatchObject({ code: "resource_exhausted" });
    expect(await request.until(({ stopCode }) => stopCode)).toBe(0x100);
    const cut = client.connect(post("change", { "content-length": "50" }), json({ text: "x" }), true);
    await expect(cut.answer()).rejects.toThrow(RESET_MALFORMED);
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`x-${at}`, "1"]));
    expect((await client.connect(post("change", many), json({}), true).answer()).fields.get(":status")).toBe("431");
  });

  it("holds nothing of a body that does not end after its answer", async () => {
    await serving();
    const [client] = await raw();
    const head = post("sum", { "content-type": "application/connect+json", "connect-timeout-ms": "50" });
    // The begin of an envelope of 50 bytes.
    const request = client.connect(head, frame(0, [0, 0, 0, 0, 50, 1, 2, 3]));
    expect((await request.answer()).body.toString()).toContain("deadline_exceeded");
    await vi.waitUntil(() => server.stats().heldBytes === 0, { timeout: 10_000 });
  });

  it("drains: calls in progress end and their answers arrive, others are refused", async () => {
    await serving();
    const [client] = await raw();
    const call = client.connect(post("wait", { "connect-timeout-ms": "300" }), json({}), true);
    await until(() => seen.waiting === 1);
    const drained = server.drain();
    await expect(client.connect(post("nothing"), json({}), true).answer()).rejects.toThrow(RESET_REJECTED);
    expect((await call.answer()).fields.get(":status")).toBe("504");
    await drained;
    open.splice(0, 1);
  });

  it("serves sessions of WebTransport and QUIC beside", async () => {
    const base = await serving({ listen: ["quic://127.0.0.1:0"] });
    const session = await dial(server.urls[0] as string, { serverCertificateHashes: [hash] });
    open.push(session);
    await Promise.all([session.unary(httpMethods.nothing, undefined), clientOf(base).nothing()]);
    const web = await dial(`https://127.0.0.1:${server.address.port}/`, { serverCertificateHashes: [hash] });
    open.push(web);
    await Promise.all([web.unary(httpMethods.nothing, undefined), clientOf(base).nothing()]);
  });
});

/** The field `alt-svc` of the first answers over HTTP/1.1 and HTTP/2. */
async function alternatives(base: string): Promise<unknown[]> {
  const sent = httpsRequest(`${base}/healthz`, { rejectUnauthorized: false }).end();
  const [answer] = (await once(sent, "response")) as [{ headers: Record<string, unknown>; resume(): void }];
  answer.resume();
  const session = connectHttp2(base, { rejectUnauthorized: false });
  const stream = session.request({ ":path": `${BASE}nothing` }).resume();
  const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
  session.close();
  return [answer.headers["alt-svc"], fields["alt-svc"]];
}

describe("Alt-Svc", () => {
  it("tells clients over TCP of HTTP/3, where it is taken", async () => {
    const base = await serving();
    const { port } = server.address;
    expect(await alternatives(base)).toEqual([`h3=":${port}"; ma=86400`, `h3=":${port}"; ma=86400`]);
  });

  it.each<[string, Partial<ServeOptions>]>([
    ["http: { http3: false }", { http: { http3: false } }],
    ["a listener of Node's requests alone", { http: (_, response) => void response.writeHead(204).end() }],
  ])("is not sent with %s, and requests are answered with 404", async (_, options) => {
    expect(await alternatives(await serving(options))).toEqual([undefined, undefined]);
    const [client] = await raw();
    expect((await client.connect(post("nothing"), [], true).answer()).fields.get(":status")).toBe("404");
  });

  it("is not sent through proxies, whose port is another; a handler of one's own takes HTTP/3", async () => {
    const http = toNodeHandler(createFetchHandler({ routers: [newRouter({} as Seen)] }));
    const base = await serving({ http, advanced: { trustedProxies: ["192.0.2.1"] } });
    expect(await alternatives(base)).toEqual([undefined, undefined]);
    await clientOf(base).nothing();
  });
});

const python = pythonWithAioquic();

describe.skipIf(python === undefined)("aioquic", () => {
  it("calls by HTTP/3, with bodies in many pieces and several calls at once", { timeout: 60_000 }, async () => {
    const base = await serving({
      async authenticate({ credentials }) {
        if ((await credentials) !== "good") throw new RpcError("unauthenticated", "who are you?");
      },
    });
    const large = "x".repeat(200_000);
    const headers = { "content-type": "application/json", authorization: "Bearer good", cookie: "a=b" };
    const connect = { ...headers, "content-type": "application/connect+json" };
    const ask = (path: string, body: string, more: object = {}): object => {
      return {
        authority: new URL(base).host,
        path: BASE + path,
        headers,
        body: Buffer.from(body).toString("base64"),
        ...more,
      };
    };
    const answers = await answersTo([
      ask("change", JSON.stringify({ text: "hello" })),
      ask("change", JSON.stringify({ text: large }), { pieces: 50 }),
      ask("fail", "{}"),
      ask("items", `\0\0\0\0${String.fromCharCode(7)}{"n":2}`, { headers: connect }),
      ask(`echo?encoding=json&message=${encodeURIComponent('{"text":"got"}')}`, "", { method: "GET" }),
      ask("none", "{}"),
    ]);
    const texts = answers.map(({ body }) => Buffer.from(body, "base64").toString());
    expect(answers.map((answer) => answer.headers[":status"])).toEqual(["200", "200", "400", "200", "200", "404"]);
    expect(JSON.parse(texts[0] as string)).toEqual({ text: "hello" });
    expect(JSON.parse(texts[1] as string)).toEqual({ text: large });
    expect(JSON.parse(texts[2] as string)).toMatchObject({ code: "failed_precondition" });
    expect(texts[3]).toContain('{"i":1}');
    expect(JSON.parse(texts[4] as string)).toEqual({ text: "got" });
  });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

interface Answered {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answers to these requests, of one connection. */
async function answersTo(requests: readonly object[]): Promise<Answered[]> {
  const client = spawn(python as string, [here("http3/client.py"), String(server.address.port)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for (const request of requests) client.stdin.write(`${JSON.stringify(request)}\n`);
  client.stdin.end();
  return (await all(createInterface({ input: client.stdout }))).map((line) => JSON.parse(line) as Answered);
}

/** The interpreter of a virtual environment that has aioquic; undefined where that cannot be had. */
function pythonWithAioquic(): string | undefined {
  const folder = here("../.cache/http3/venv");
  const interpreter = `${folder}/bin/python`;
  const options = { stdio: "ignore", timeout: 120_000 } as const;
  const works = (): boolean => spawnSync(interpreter, ["-c", "import aioquic.h3.connection"], options).status === 0;
  if (existsSync(interpreter) && works()) return interpreter;
  mkdirSync(folder, { recursive: true });
  const requirements = here("../../interop/aioquic/requirements.txt");
  const made = spawnSync("python3", ["-m", "venv", folder], options).status === 0;
  if (made) spawnSync(interpreter, ["-m", "pip", "install", "-q", "-r", requirements], options);
  return made && works() ? interpreter : undefined;
}
