import cluster from "node:cluster";
import type { Socket } from "node:net";
import { once } from "node:events";
import { TransportError } from "@quicrpc/core";
import { asError } from "@quicrpc/core/internal";
import type { GroupMember } from "@quicrpc/quic";
import type { Server } from "../server.js";
import type { HandedConnections } from "../listen/listener.js";
import type { PassedSocket } from "../listen/systemd.js";
import { forgetWorkerExecArgv } from "./exec-argv.js";
import {
  type FromWorker,
  type PassedStream,
  type ErrorDescription,
  type ToWorker,
  WORKER_VARIABLE,
  type WorkerShare,
} from "./messages.js";

/** Sockets and keys that the workers of one group share, in the form that a worker uses. */
export interface GroupShare {
  /** This worker's sockets: one for each UDP port, in the order of the listeners. */
  readonly members: readonly GroupMember[];
  /** Key with which the workers resume each other's QUIC sessions. */
  readonly ticketKey: Uint8Array;
  /** Sockets that systemd passed to the primary process. Undefined if there are none. */
  readonly passed: readonly PassedSocket[] | undefined;
  /** Returns the connections that the primary accepts on the passed socket with this file descriptor. */
  handedConnections(descriptor: number): HandedConnections;
}

const STATS_MS = 1000;

/** True if this process is a worker of `serve({ workers })`. */
export const isWorker: boolean = cluster.isWorker && process.env[WORKER_VARIABLE] !== undefined;
// No process that this one starts takes itself for a worker.
delete process.env[WORKER_VARIABLE];
if (isWorker) forgetWorkerExecArgv();

/**
 * Calls `start` in this worker and serves until the primary ends the worker. If `start` fails, sends the error to the
 * primary, which ends this process.
 */
export async function serveAsWorker(start: (share: GroupShare) => Promise<Server>): Promise<Server> {
  try {
    const share = await join();
    const server = await start(share);
    followEnd(server, (whenClosed) => void end(whenClosed));
    followPrimary(server);
    reportReady(server);
    report(server);
    return server;
  } catch (error) {
    sendToPrimary({ quicrpc: "failed", error: describeError(error) });
    // The primary has received the error, reports it once for all workers, and ends this process.
    return new Promise(() => {});
  }
}

async function join(): Promise<GroupShare> {
  sendToPrimary({ quicrpc: "join" });
  for (;;) {
    const [message] = (await once(process, "message")) as [ToWorker | null];
    if (message?.quicrpc === "joined") return groupShare(message.share);
  }
}

export function groupShare({ members, ticketKey, passed, streams }: WorkerShare): GroupShare {
  return {
    members,
    ticketKey: new Uint8Array(Buffer.from(ticketKey, "base64")),
    passed,
    handedConnections: (descriptor) => handedBy(streams, descriptor),
  };
}

function handedBy(streams: readonly PassedStream[], descriptor: number): HandedConnections {
  return {
    address: streams.find((stream) => stream.descriptor === descriptor)?.address ?? null,
    takenBy: (onSocket) => {
      let taking = true;
      process.on("message", (message: ToWorker | null, socket: unknown) => {
        if (message?.quicrpc !== "connection" || message.descriptor !== descriptor) return;
        // Undefined if its client has disconnected in the meantime.
        const connection = socket as Socket | undefined;
        if (taking && connection !== undefined) onSocket(connection);
        else connection?.destroy();
      });
      return () => void (taking = false);
    },
  };
}

/**
 * Reports to the primary that this worker serves. Waits until the program has received its server and installed its
 * signal handlers.
 */
export function reportReady(server: Server): void {
  setImmediate(() => sendToPrimary({ quicrpc: "ready", urls: server.urls }));
}

/**
 * Reports to the primary when the server begins to end for any reason. Calls `ends` with a promise of the server's end.
 */
export function followEnd(server: Server, ends: (whenClosed: ReturnType<Server["close"]>) => void): void {
  const drain = server.drain.bind(server);
  const close = server.close.bind(server);
  let leaving = false;
  const watchEnd = (whenClosed: ReturnType<Server["close"]>): typeof whenClosed => {
    if (!leaving) {
      leaving = true;
      sendToPrimary({ quicrpc: "leaving" });
      ends(whenClosed);
    }
    return whenClosed;
  };
  Object.assign(server, {
    drain: (...args: Parameters<Server["drain"]>) => watchEnd(drain(...args)),
    close: (...args: Parameters<Server["close"]>) => watchEnd(close(...args)),
  });
}

function followPrimary(server: Server): void {
  process.on("message", (message: ToWorker | null) => {
    if (message?.quicrpc === "drain") void server.drain({ ...message.options, timeoutMs: message.timeoutMs });
    if (message?.quicrpc === "close") {
      const { closeCode, reason } = message;
      void server.close({ ...(closeCode !== undefined && { closeCode }), ...(reason !== undefined && { reason }) });
    }
  });
}

/**
 * Disconnects this process from the primary when its server has ended. The process then exits unless it has other work.
 */
async function end(whenClosed: ReturnType<Server["close"]>): Promise<void> {
  const { unacknowledged } = await whenClosed;
  sendToPrimary({ quicrpc: "over", unacknowledged });
  cluster.worker?.disconnect();
}

/** Sends the server's load to the primary at intervals. These messages also show that this process is not blocked. */
function report(server: Server): void {
  setInterval(() => sendToPrimary({ quicrpc: "stats", stats: server.stats() }), STATS_MS).unref();
}

export function sendToPrimary(message: FromWorker): void {
  // Without a primary the process is about to end.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function describeError(error: unknown): ErrorDescription {
  const { name, message } = asError(error);
  const { code, url, hint } = error instanceof TransportError ? error : {};
  return { name, message, code, url, hint };
}
