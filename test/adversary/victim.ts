// The server under attack, in a process of its own: `harness.ts` bundles and starts it.
import { readFileSync, writeFileSync } from "node:fs";
import { RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { durableRouter } from "@quicrpc/durable/generated";
import { createTopics } from "@quicrpc/topics";
import { http2Transport } from "@quicrpc/fails-components";
import { devCertificate, nodeCompressions, serve } from "@quicrpc/node";
import { createTopicRouter } from "@quicrpc/topics/generated";
import { roomMethods, serveRooms } from "../rooms.js";
import { type Held, methods, type VictimSettings } from "./contract.js";

const {
  listen,
  webSocket,
  http2,
  http = false,
  limits,
  compressed = false,
  authenticate,
} = JSON.parse(process.argv[2] ?? "{}") as VictimSettings;
const never = (): Promise<never> => new Promise(() => {});
let handlers = 0;
let comers = 0;

/** Holds what it is given. */
async function kept(input: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> {
  handlers++;
  try {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  } finally {
    void input;
    handlers--;
  }
}

const router = durableRouter(
  createRouter(methods, {
    echo: (input) => input,
    strict: ({ tags }) => tags.length,
    tree: () => {},
    texts: () => {},
    bytes: (n) => new Uint8Array(n),
    hang: async (_, { signal, metadata }) => {
      handlers++;
      metadata.get("tenant");
      try {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        handlers--;
      }
    },
    deaf: async () => {
      handlers++;
      await never();
    },
    note: () => {
      throw new RpcError("failed_precondition", "the note was refused");
    },
    drop: () => {},
    async *items(n) {
      for (let i = 0; i < n; i++) yield new Uint8Array(1024);
    },
    keep: kept,
    keepBytes: kept,
    ignore: kept,
    unread: async () => {
      handlers++;
      await never();
    },
    async *live(n, { signal }) {
      handlers++;
      try {
        for (let i = 0; i < n; i++) yield new Uint8Array(1024);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        handlers--;
      }
    },
  }),
);

const { cert, key } = await devCertificate();
const server = await serve({
  listen,
  webSocket,
  http,
  tls: { cert, key },
  routers: [router, createTopicRouter(roomMethods, {}, serveRooms(createTopics()))],
  ...(limits !== undefined && { limits }),
  ...(authenticate !== undefined && {
    authenticate: async (peer) => {
      if (authenticate === "slow") {
        await new Promise((resolve) => setTimeout(resolve, 1000));
        if (peer.transport === "http") throw new RpcError("unauthenticated", "who are you?");
        return {};
      }
      if (authenticate === "reads") return { known: await peer.credentials };
      return comers++ === 0 && authenticate === "first" ? {} : never();
    },
  }),
  advanced: {
    ...(http2 && { transports: [http2Transport()] }),
    ...(compressed && { compression: { algorithms: nodeCompressions() } }),
  },
});

/** Returns the live memory after a collection, and the peak of resident memory since `reset`. */
async function measure(reset: boolean): Promise<Held> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  const peak = peakResident();
  if (reset) resetPeak();
  return {
    live: heapUsed + external,
    resident: process.memoryUsage.rss(),
    peak,
    sessions: server.sessions.size,
    handlers,
  };
}

/** Bytes; `/proc` forgets what the parent had, as `getrusage` does not. */
function peakResident(): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

function resetPeak(): void {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // On systems other than Linux the peak covers the whole life of the process.
  }
}

process.on("message", ({ id, reset }: { id: number; reset: boolean }) => {
  void measure(reset).then((held) => process.send?.({ id, held }));
});
process.send?.({ urls: server.urls });
