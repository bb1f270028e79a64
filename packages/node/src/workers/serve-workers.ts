import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { errorHook } from "@quicrpc/core/internal";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { retryTaken } from "../listen/with-tcp.js";
import { isOverUdp, isPassed, type ProvidedTarget, targetsOf } from "../listen/listen.js";
import type { Server } from "../server.js";
import type { ServeSettings } from "../serve-options.js";
import { notifyReady, passedSockets } from "../listen/systemd.js";
import { bindPorts, claimWorkers } from "./ports.js";
import { PassedListeners } from "./passed-listeners.js";
import { PrimaryServer } from "./primary.js";
import { type GroupShare, isWorker, serveAsWorker } from "./worker.js";

/** Maximum number of workers. There is one additional slot for restarts. */
const MOST_WORKERS = 127;
/** Default of `workerHangTimeoutMs` in milliseconds. */
const STUCK_MS = 30_000;
/** Minimum of `workerHangTimeoutMs` in milliseconds. A worker reports to the primary every second. */
const LEAST_STUCK_MS = 3000;
const MOST_STUCK_MS = 2 ** 31 - 1;

/**
 * Serves with several processes that run the same program. The first process starts the other processes and replaces
 * those that exit. In the other processes, `start` serves.
 */
export async function serveWorkers<Context>(
  options: ServeSettings<Context>,
  start: (share: GroupShare) => Promise<Server>,
): Promise<Server> {
  const size = sizeOf(options.workers);
  const releaseClaim = claimWorkers("serve() with the option workers");
  if (isWorker) return serveAsWorker(start);
  if (cluster.isWorker) {
    throw new TypeError(
      "serve() with the option workers starts the processes itself: call it in the primary of node:cluster",
    );
  }
  const { workerHangTimeoutMs: stuckMs = STUCK_MS } = options;
  if (!(stuckMs >= LEAST_STUCK_MS && stuckMs <= MOST_STUCK_MS)) {
    throw new TypeError(
      `the option workerHangTimeoutMs must be from ${LEAST_STUCK_MS} to ${MOST_STUCK_MS}, not ${stuckMs}`,
    );
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  try {
    const targets = targetsOf(options);
    await removeAbandonedFiles(targets);
    return await retryTaken(targets.some(isAnyPort), async () => {
      const ports = bindPorts(options, targets, size + 1);
      const passedListeners = targets.some(isPassed) ? new PassedListeners(passedSockets()) : undefined;
      const server = new PrimaryServer(ports, passedListeners, size, errorHook(options.onError), stuckMs, limits);
      server.onEnd = releaseClaim;
      await server.start(targets.flatMap(({ descriptor }) => descriptor ?? []));
      if (passedListeners !== undefined) await notifyReady();
      return server;
    });
  } catch (error) {
    releaseClaim();
    throw error;
  }
}

/**
 * Returns true if the system chooses a UDP port for the target, which may have to be repeated because the TCP port with
 * the same number is in use.
 */
function isAnyPort(target: ProvidedTarget): boolean {
  return target.port === 0 && isOverUdp(target) && !isPassed(target);
}

/**
 * Removes Unix socket files that a killed process has left. This happens once, before any worker starts, because
 * workers create the files themselves.
 */
async function removeAbandonedFiles(targets: readonly ProvidedTarget[]): Promise<void> {
  const files = targets.filter((target) => target.scheme === "unix:" && !isPassed(target));
  if (files.length === 0) return;
  const { removeAbandoned } = await import("../listen/sockets.js");
  for (const { path } of files) await removeAbandoned(path);
}

function sizeOf(workers: ServeSettings["workers"]): number {
  const size = workers === "auto" ? availableParallelism() : workers;
  if (Number.isInteger(size) && Number(size) >= 1 && Number(size) <= MOST_WORKERS) return Number(size);
  throw new TypeError(
    `the option workers must be "auto" or an integer from 1 to ${MOST_WORKERS}, not ${String(workers)}`,
  );
}
