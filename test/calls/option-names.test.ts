// Functions of programs refuse options that they do not know, and name the one that was meant.
import { createLocalCaller } from "@quicrpc/core";
import { blob } from "@quicrpc/core/blobs";
import { createOutbox, MemoryOnceStore } from "@quicrpc/core/once";
import { createPool } from "@quicrpc/core/pool";
import { createTopics, topic } from "@quicrpc/core/topics";
import { failsTransport } from "@quicrpc/fails-components";
import { createFetchHandler } from "@quicrpc/http";
import { natsTargets, natsTopics } from "@quicrpc/nats";
import { devCertificate, dnsTargets, drainOnSignal, fileBlob, fileUploads, saveBlob, watchTls } from "@quicrpc/node";
import { fileTopics } from "@quicrpc/node/topics";
import { metrics, tracing } from "@quicrpc/otel";
import { RedisOnceStore } from "@quicrpc/redis";
import { createTimings } from "@quicrpc/services";
import { expect, it } from "vitest";
import { z } from "zod";

const server = { updateTls: () => {}, drain: async () => ({}), close: async () => {}, stats: () => ({}) };

/** What each is called by, with a name that is wrong by a letter, and the name that was meant. */
const calls: Record<string, [wrong: string, meant: string, call: (options: never) => unknown]> = {
  "createLocalCaller()": ["interceptor", "interceptors", (options) => createLocalCaller([], options)],
  "createPool()": ["sessionPerTarget", "sessionsPerTarget", (options) => createPool(["a"], fails, options)],
  "createTopics()": ["limit", "limits", (options) => createTopics(options)],
  "createOutbox()": ["maxItem", "maxItems", (options: object) => createOutbox({ send: fails, ...options })],
  "MemoryOnceStore()": ["maxEntrys", "maxEntries", (options) => new MemoryOnceStore(options)],
  "failsTransport()": ["httpversion", "httpVersion", (options) => failsTransport(options)],
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
  "blob()": ["maxByte", "maxBytes", (options) => blob(options)],
  "topic()": ["histories", "history", (options) => topic("a", z.string(), options)],
  "fileBlob()": ["names", "name", (options) => fileBlob("/nowhere", options)],
  "saveBlob()": ["resumed", "resume", (options) => saveBlob({} as never, "/nowhere/a", options)],
  "createTimings()": ["keeps", "keep", (options) => createTimings(options)],
};

async function fails(): Promise<never> {
  throw new Error("nobody listens");
}

it.each(Object.entries(calls))("%s", async (where, [wrong, meant, call]) => {
  const options = { [wrong]: 1 } as never;
  const message = `${where} has no option ${wrong}: did you mean ${meant}?`;
  await expect(async () => call(options)).rejects.toThrow(message);
});
