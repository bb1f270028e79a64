// One side of calls between two versions: `node peer.mjs <packages folder> serve` prints its addresses, and ends when
// its input ends; `node peer.mjs <packages folder> call <output of the server>` prints the results of calls of every
// kind, by scheme. It uses features that both versions have, under the names of each version.
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, role, given] = process.argv.slice(2);
/** A module as Node has it by the name of its package: of the bundles, since there are such. */
const load = (path) => {
  const bundled = resolve(folder, path.replace("/dist/", "/bundle/"));
  return import(pathToFileURL(existsSync(bundled) ? bundled : resolve(folder, path)).href);
};
const core = { ...(await load("core/dist/index.js")) };
// Entries of their own since the first version here.
for (const entry of ["generated.js", "transports.js"])
  Object.assign(core, await load(`core/dist/${entry}`).catch(() => ({})));
const { devCertificate, dial, serve } = await load("node/dist/index.js");
/** Undefined in versions before it. */
const http = await load("http/dist/index.js").catch(() => undefined);
const { createRouter, defineMethod, RpcError } = core;

/** It was called msgpackCodec. */
const any = (core.uncheckedCodec ?? core.msgpackCodec)();
const service = { name: "skew.v1.Skew", id: 4711 };
const define = (kind, name, id) => defineMethod(service, kind, name, { id, input: any, output: any });
const methods = {
  echo: define("unary", "echo", 1),
  fail: define("unary", "fail", 2),
  hang: define("unary", "hang", 3),
  said: define("unary", "said", 4),
  note: define("notify", "note", 5),
  count: define("server_stream", "count", 6),
  sum: define("client_stream", "sum", 7),
  chat: define("duplex", "chat", 8),
};
const VALUE = {
  text: "grüße",
  big: 12345678901234567890n,
  at: new Date(0),
  list: [1, -1, 1.5, null, true],
  bytes: Uint8Array.of(1, 2),
};
/** More than one frame of a lane may hold at once, less than a message may have. */
const LARGE = 1_000_000;

async function runServer() {
  const { cert, key, hash } = await devCertificate();
  const directory = mkdtempSync(join(tmpdir(), "quicrpc-skew-"));
  let noted = () => {};
  const router = createRouter(methods, {
    echo: (input) => input,
    fail: () => {
      throw new RpcError("failed_precondition", "not now", { details: { retry: false } });
    },
    hang: (_, { signal }) => new Promise((done) => signal.addEventListener("abort", () => done(null))),
    said: () => new Promise((done) => (noted = done)),
    note: (input) => noted(input),
    async *count({ n, fails }) {
      for (let i = 0; i < n; i++) yield i;
      if (fails) throw new RpcError("data_loss", "the end is lost");
    },
    async sum(items) {
      let sum = 0;
      for await (const item of items) sum += item;
      return sum;
    },
    async *chat(items) {
      for await (const item of items) yield item.toUpperCase();
    },
  });
  const engine = ["quic://127.0.0.1:0", "https://127.0.0.1:0/rpc"];
  const plain = ["tls://127.0.0.1:0", "wss://127.0.0.1:0/rpc", "tcp://127.0.0.1:0", "ws://127.0.0.1:0/rpc"];
  const local = process.platform === "win32" ? [] : [`unix:${join(directory, "socket")}`];
  const listen = [...engine, ...plain, ...local, ...(http === undefined ? [] : ["http://127.0.0.1:0"])];
  const server = await serve({ listen, tls: { cert, key }, routers: [router], http: http !== undefined });
  const urls = server.urls.map(String);
  console.log(JSON.stringify({ urls, cert, hash: Buffer.from(hash.value).toString("base64") }));
  await once(process.stdin.resume(), "end");
  await server.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Calls have a function of their own each, or share one. */
function starter(session) {
  const own = { notify: "notify", server_stream: "serverStream", client_stream: "clientStream", unary: "unary" };
  return (method, input, options = {}) => {
    if (session.unary === undefined) return session.start(method, input, options);
    return method.kind === "duplex"
      ? session.duplex(method, options)
      : session[own[method.kind]](method, input, options);
  };
}

async function collect(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** Tells a failure to whoever called. */
async function failureOf(promise) {
  try {
    return { succeeded: await promise };
  } catch (error) {
    return { code: error.code, details: error.details };
  }
}

async function chat(start, options) {
  const { readable, writable } = start(methods.chat, undefined, options);
  const writer = writable.getWriter();
  const answers = collect(readable);
  await writer.write("a");
  await writer.write("b");
  await writer.close();
  return answers;
}

async function callsOver(url, { cert, hash }) {
  const pinned = /^(quic|https):/.test(url);
  const value = new Uint8Array(Buffer.from(hash, "base64"));
  const trust = pinned
    ? { serverCertificateHashes: [{ algorithm: "sha-256", value }] }
    : /^(tls|wss):/.test(url)
      ? { ca: cert }
      : {};
  const isHttp = url.startsWith("http:");
  const session = isHttp ? http.httpTransport().caller(url) : await dial(url, trust);
  const start = starter(session);
  const results = {};
  for (const via of pinned ? ["lane", "stream"] : [isHttp ? "request" : "lane"]) {
    const way = isHttp ? {} : { via };
    const options = { ...way, timeoutMs: 20_000 };
    // Requests have connections of their own, which servers limit.
    const many = isHttp ? 30 : 300;
    results[via] = {
      echo: await start(methods.echo, VALUE, options),
      large: (await start(methods.echo, new Uint8Array(LARGE), options)).length,
      fail: await failureOf(start(methods.fail, null, options)),
      deadline: await failureOf(start(methods.hang, null, { ...options, timeoutMs: 50 })),
      cancelled: await failureOf(start(methods.hang, null, { ...options, signal: AbortSignal.timeout(20) })).then(
        ({ code }) => code,
      ),
      unknown: await failureOf(start(define("unary", "unknown", 99), null, options)).then(({ code }) => code),
      count: await collect(start(methods.count, { n: 200 }, options)),
      failing: await failureOf(collect(start(methods.count, { n: 2, fails: true }, options))),
      sum: await start(methods.sum, [1, 2, 3], options),
      // Not in both directions at once over HTTP.
      chat: isHttp ? undefined : await chat(start, options),
      many: (await Promise.all(Array.from({ length: many }, (_, i) => start(methods.echo, i, options)))).length,
    };
    const said = start(methods.said, null, options);
    await start(methods.note, "noted", way);
    results[via].note = await said;
  }
  await session.close();
  return results;
}

async function runClient() {
  const server = JSON.parse(given);
  const results = {};
  const urls = server.urls.filter((url) => http !== undefined || !url.startsWith("http:"));
  for (const url of urls) results[new URL(url).protocol] = await callsOver(url, server);
  const plain = (_, value) => (typeof value === "bigint" ? `${value}n` : value);
  console.log(JSON.stringify(results, plain));
}

await (role === "serve" ? runServer() : runClient());
