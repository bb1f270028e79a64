// Unary calls in JSON over HTTP/1.1 and HTTP/2, with TLS, 64 in flight: `serve({ http: true })`, a handler of Node's own with `JSON.parse` and
// `JSON.stringify`, connect-es, tRPC, Hono and oRPC, each in a process of its own, in turn: `npm run bench http [-- --rounds 9 --calls 4000]`. The client is Node's in
// each case, and all but Node's own handler check the input by a schema.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { createSecureServer as createHttp2, connect as connectHttp2 } from "node:http2";
import { Agent, createServer as createHttps, request as requestHttps } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { parseArgs } from "node:util";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { serve as serveQuicrpc } from "@quicrpc/node";
import { createRouter } from "@quicrpc/core/generated";
import { httpPeers, isHttpPeer } from "./http-peers.js";
import { median } from "./median.js";
import { type CertificateFiles, temporaryCertificate } from "./certificate.js";
import { service } from "./contestant.js";
import { connectBench } from "./contestants/connect.js";
import { benchMethods } from "./generated/bench.js";

const IN_FLIGHT = 64;
const CONTESTANTS = ["node", "quicrpc", "connect-es", "trpc", "hono", "orpc"] as const;
type Contestant = (typeof CONTESTANTS)[number];
const VERSIONS = ["HTTP/1.1", "HTTP/2"] as const;
type Version = (typeof VERSIONS)[number];

/** Returns the path of the method; connect-es uses the names of the .proto file. */
const pathOf = (name: Contestant): string =>
  isHttpPeer(name) ? httpPeers[name].path : `/bench.v1.Bench/${name === "connect-es" ? "Multiply" : "multiply"}`;
/** Returns a contestant's request and response bodies; some wrap the message. */
const messagesOf = (name: Contestant): { readonly body: Buffer; readonly answer: string } => {
  const { wrap = (json: string) => json, wrapAnswer = wrap } = isHttpPeer(name) ? httpPeers[name] : {};
  return { body: Buffer.from(wrap('{"a":9,"b":2}')), answer: wrapAnswer('{"pro":18}') };
};

function bare(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const { a, b } = JSON.parse(Buffer.concat(pieces).toString()) as { a: number; b: number };
    const body = JSON.stringify({ pro: service.multiply(a, b) });
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
    response.end(body);
  });
}

/**
 * Starts a server and returns its port. quicrpc's server accepts both versions; the others use Node's server of
 * `version` with its defaults.
 */
async function start(name: Contestant, version: Version, { cert, key }: CertificateFiles): Promise<number> {
  const tls = { cert: readFileSync(cert), key: readFileSync(key) };
  if (name === "quicrpc") {
    const { multiply } = benchMethods;
    const routers = [createRouter({ multiply }, { multiply: ({ a, b }) => ({ pro: service.multiply(a, b) }) })];
    const server = await serveQuicrpc({ listen: "wss://127.0.0.1:0", tls, routers, http: true });
    return server.address.port;
  }
  const handlers = { multiply: ({ a, b }: { a: number; b: number }) => ({ pro: service.multiply(a, b) }) };
  const handler =
    name === "node"
      ? bare
      : isHttpPeer(name)
        ? httpPeers[name].listener()
        : connectNodeAdapter({ routes: (router) => void router.service(connectBench(), handlers as never) });
  const options = { ...tls, minVersion: "TLSv1.3" } as const;
  const server: Server =
    version === "HTTP/2" ? createHttp2(options, handler as never) : createHttps(options, handler as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Makes a call and returns its response. */
type Call = () => Promise<string>;

function caller(version: Version, name: Contestant, port: number): { readonly call: Call; readonly close: () => void } {
  const path = pathOf(name);
  const { body } = messagesOf(name);
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  if (version === "HTTP/1.1") {
    const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT, rejectUnauthorized: false });
    const call: Call = () =>
      new Promise((resolve, reject) => {
        const sent = requestHttps({ agent, port, host: "127.0.0.1", method: "POST", path, headers });
        sent.on("response", (answer) => {
          let text = "";
          answer.setEncoding("utf8");
          answer.on("data", (piece: string) => (text += piece));
          answer.on("end", () => resolve(text));
        });
        sent.on("error", reject);
        sent.end(body);
      });
    return { call, close: () => agent.destroy() };
  }
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const call: Call = () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": path, ...headers });
      let text = "";
      stream.setEncoding("utf8");
      stream.on("data", (piece: string) => (text += piece));
      stream.on("end", () => resolve(text));
      stream.on("error", reject);
      stream.end(body);
    });
  return { call, close: () => session.close() };
}

async function round(call: Call, calls: number, expected: string): Promise<void> {
  let left = calls;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await call();
      if (answer !== expected) throw new Error(`an answer was ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

/** Formats the median of rounds with the minimum and the maximum. */
function spread(values: readonly number[], digits: number): string {
  const [low, mid, high] = [Math.min(...values), median(values), Math.max(...values)];
  return `${mid.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** A server's process, and the CPU time that it has used, in microseconds. */
interface ServerProcess {
  readonly port: number;
  cpu(): Promise<number>;
  stop(): void;
}

async function spawnServer(
  name: Contestant,
  version: Version,
  { cert, key }: CertificateFiles,
): Promise<ServerProcess> {
  const child = fork(import.meta.filename, ["--server", name, "--version", version, "--cert", cert, "--key", key]);
  const next = (): Promise<number> => new Promise((resolve) => child.once("message", (n) => resolve(n as number)));
  const port = await next();
  return {
    port,
    cpu() {
      const answer = next();
      child.send("cpu");
      return answer;
    },
    stop: () => void child.kill(),
  };
}

async function compare(rounds: number, calls: number): Promise<void> {
  const certificate = await temporaryCertificate();
  for (const version of VERSIONS) {
    const running = await Promise.all(
      CONTESTANTS.map(async (name) => {
        const server = await spawnServer(name, version, certificate);
        return { name, server, cpu: [] as number[], time: [] as number[], ...caller(version, name, server.port) };
      }),
    );
    for (const { name, call } of running) await round(call, calls, messagesOf(name).answer);
    for (let at = 0; at < rounds; at++) {
      for (const one of running) {
        const [cpu, began] = [await one.server.cpu(), performance.now()];
        await round(one.call, calls, messagesOf(one.name).answer);
        one.time.push((performance.now() - began) / calls);
        one.cpu.push(((await one.server.cpu()) - cpu) / calls);
      }
    }
    const [node] = running;
    for (const { name, cpu, time } of running) {
      const ratio = (measured: readonly number[], of: readonly number[] = []): string =>
        spread(
          measured.map((value, at) => (of[at] ?? 0) / value),
          2,
        );
      const ratios = `rate ${ratio(time, node?.time)}, calls for the CPU of Node's ${ratio(cpu, node?.cpu)}`;
      console.log(`${version.padEnd(9)} ${name.padEnd(11)} server's CPU ${spread(cpu, 1)} µs for each call; ${ratios}`);
    }
    for (const { close, server } of running) {
      close();
      server.stop();
    }
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    calls: { type: "string", default: "4000" },
    server: { type: "string" },
    version: { type: "string", default: "HTTP/1.1" },
    cert: { type: "string", default: "" },
    key: { type: "string", default: "" },
  },
});
if (values.server === undefined) await compare(Number(values.rounds), Number(values.calls));
else {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(await start(values.server as Contestant, values.version as Version, values));
}
