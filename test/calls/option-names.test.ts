// Functions of programs refuse options that they do not know, and name the one that was meant.
import { generate } from "@quicrpc/codegen";
import {
  authentication,
  authorize,
  concurrencyLimit,
  createClientSession,
  createConnection,
  createLocalCaller,
  createSession,
  createStreamSession,
  retry,
} from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { defineMethod, zodCodec } from "@quicrpc/core/generated";
import { tapFrames } from "@quicrpc/core/measure";
import { catchUp, createOutbox, MemoryOnceStore } from "@quicrpc/durable";
import { createPool } from "@quicrpc/pool";
import { createBatches } from "@quicrpc/batch";
import { createTopics, topic } from "@quicrpc/topics";
import {
  byteStreamTransport,
  createMemoryPair,
  messagePortTransport,
  webSocketTransport,
  webStreamTransport,
} from "@quicrpc/core/transport";
import { createFetchHandler, docsPage, httpTransport } from "@quicrpc/http";
import { mcp } from "@quicrpc/mcp";
import { serveToolsOverStdio } from "@quicrpc/mcp/stdio";
import { natsTargets, natsTopics } from "@quicrpc/nats";
import {
  devAuthority,
  devCertificate,
  dnsTargets,
  drainOnSignal,
  fileBlob,
  fileUploads,
  nodeStreamTransport,
  saveBlob,
  watchTls,
} from "@quicrpc/node";
import { fileTopics } from "@quicrpc/node/topics";
import { metrics, tracing } from "@quicrpc/otel";
import { RedisOnceStore } from "@quicrpc/redis";
import { createTimings } from "@quicrpc/services";
import { studio } from "@quicrpc/studio";
import { createSessionPair, openNetwork, openTcpLink, openUdpLink, recordCalls } from "@quicrpc/testing";
import { quicrpc } from "@quicrpc/vite";
import { serveTopics } from "@quicrpc/topics/generated";
import { expect, it } from "vitest";
import { z } from "zod";
// Node has no entry of its own here: pages in development have this one.
import { createQueries } from "../../packages/query/dist/development.js";

const transport = () => createMemoryPair()[0];
const server = { updateTls: () => {}, drain: async () => ({}), close: async () => {}, stats: () => ({}) };

/** What each is called by, with a name that is wrong by a letter, and the name that was meant. */
const calls: Record<string, [wrong: string, meant: string, call: (options: never) => unknown]> = {
  "createLocalCaller()": ["interceptor", "interceptors", (options) => createLocalCaller([], options)],
  "createSession()": ["router", "routers", (options) => createSession(transport(), options)],
  "createClientSession()": ["token", "credentials", (options) => createClientSession(transport(), options)],
  "createStreamSession()": ["peers", "peer", (options) => createStreamSession({} as never, options)],
  "createConnection()": ["retry", "reconnect", (options) => createConnection(fails, options)],
  "retry()": ["maxAttempt", "maxAttempts", (options) => retry(options)],
  "concurrencyLimit()": ["maxQueue", "maxQueued", (options) => concurrencyLimit(options)],
  "authentication()": ["verifi", "verify", (options) => authentication(options)],
  "authorize()": ["scopeOf", "scopesOf", (options) => authorize(options)],
  "catchUp()": ["maxBuffer", "maxBuffered", (options) => catchUp(() => [], [], options)],
  "zodCodec()": ["maxNode", "maxNodes", (options) => zodCodec(z.string(), options)],
  "defineMethod()": ["readonly", "readOnly", (options) => defineMethod({ name: "a", id: 1 }, "unary", "a", options)],
  "serveTopics()": ["rooms", "room", (options) => serveTopics({}, { room: "room" }, createTopics(), options)],
  "topic()": ["histori", "history", (options) => topic("room", z.string(), options)],
  "blob()": ["maxByte", "maxBytes", (options) => blob(options)],
  "tapFrames()": ["prefixes", "prefix", (options) => tapFrames(transport(), () => {}, options)],
  "byteStreamTransport()": [
    "maxHeld",
    "maxHeldBytes",
    (options) => byteStreamTransport({} as never, "client", options),
  ],
  "messagePortTransport()": [
    "closeTimeout",
    "closeTimeoutMs",
    (options) => messagePortTransport({} as never, "client", options),
  ],
  "webSocketTransport()": [
    "closeTimeout",
    "closeTimeoutMs",
    (options) => webSocketTransport({} as never, "client", options),
  ],
  "webStreamTransport()": [
    "closeTimeout",
    "closeTimeoutMs",
    (options) => webStreamTransport({} as never, "client", options),
  ],
  "httpTransport()": ["header", "headers", (options) => httpTransport(options)],
  "docsPage()": ["titel", "title", (options) => docsPage(options)],
  "mcp()": ["instruction", "instructions", (options) => mcp(options)],
  "serveToolsOverStdio()": [
    "maxResult",
    "maxResultBytes",
    (options) => serveToolsOverStdio(createLocalCaller([]), options),
  ],
  "studio()": ["titel", "title", (options) => studio(options)],
  "generate()": ["file", "files", (options) => generate(options)],
  "quicrpc()": ["generates", "generate", (options) => quicrpc(options)],
  "createQueries()": ["scop", "scope", (options) => createQueries({}, createLocalCaller([]), options)],
  "recordCalls()": ["maxlength", "maxLength", (options) => recordCalls(options)],
  "createSessionPair()": ["servers", "server", (options) => createSessionPair(options)],
  "openNetwork()": ["outage", "outages", (options) => openNetwork(options)],
  "openTcpLink()": ["sead", "seed", (options) => openTcpLink(options)],
  "openUdpLink()": ["targets", "target", (options) => openUdpLink(options)],
  "devAuthority()": ["host", "hosts", (options) => devAuthority(options)],
  "fileBlob()": ["names", "name", (options) => fileBlob("/nowhere", options)],
  "saveBlob()": ["resumes", "resume", (options) => saveBlob({} as never, "/nowhere", options)],
  "createPool()": ["sessionPerTarget", "sessionsPerTarget", (options) => createPool(["a"], fails, options)],
  "createBatches()": ["maxStep", "maxSteps", (options) => createBatches(options)],
  "createTopics()": ["limit", "limits", (options) => createTopics(options)],
  "createOutbox()": ["maxItem", "maxItems", (options: object) => createOutbox({ send: fails, ...options })],
  "MemoryOnceStore()": ["maxEntrys", "maxEntries", (options) => new MemoryOnceStore(options)],
  "createFetchHandler()": ["openapi", "openApi", (options: object) => createFetchHandler({ routers: [], ...options })],
  "natsTargets()": ["quietMS", "quietMs", (options) => natsTargets({} as never, "a", options)],
  "natsTopics()": ["server", "servers", (options) => natsTopics(options)],
  "devCertificate()": ["host", "hosts", (options) => devCertificate(options)],
  "dnsTargets()": ["record", "records", (options) => dnsTargets("quic://a:1", options)],
  "drainOnSignal()": ["signal", "signals", (options) => drainOnSignal(server as never, options)],
  "fileUploads()": ["maxUpload", "maxUploads", (options) => fileUploads("/nowhere", options)],
  "watchTls()": ["everyMS", "everyMs", (options) => watchTls(server, [], options)],
  "fileTopics()": ["files", "file", (options) => fileTopics(options)],
  "metrics()": ["meterprovider", "meterProvider", (options) => metrics(options)],
  "tracing()": ["timing", "timings", (options) => tracing(options)],
  "RedisOnceStore()": ["prefixes", "prefix", (options) => new RedisOnceStore({} as never, options)],
  "createTimings()": ["keeps", "keep", (options) => createTimings(options)],
};

async function fails(): Promise<never> {
  throw new Error("no server listens");
}

it.each(Object.entries(calls))("%s", async (where, [wrong, meant, call]) => {
  const options = { [wrong]: 1 } as never;
  const message = `${where} has no option ${wrong}: did you mean ${meant}?`;
  await expect(async () => call(options)).rejects.toThrow(message);
});

it("nodeStreamTransport() and what else is over a byte stream", () => {
  const streams = { readable: process.stdin, writable: process.stdout };
  expect(() => nodeStreamTransport(streams, "client", { closeTimeout: 1 } as object)).toThrow(
    "byteStreamTransport() has no option closeTimeout: did you mean closeTimeoutMs?",
  );
});
