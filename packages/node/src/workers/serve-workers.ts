import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { errorHook } from "@quicrpc/core/transport";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { PortGroup } from "@quicrpc/quic";
import { retryTaken } from "../listen/beside.js";
import { isOverUdp, isPassed, type ProvidedTarget, targetsOf, urlOf } from "../listen/listen.js";
import type { Server } from "../server.js";
import type { ServeOptions } from "../serve-options.js";
import { transportError } from "../transport/failure.js";
import { notifyReady, passedSockets, warnOfBlocking } from "../listen/systemd.js";
import { PassedListeners } from "./passed-listeners.js";
import { PrimaryServer } from "./primary.js";
import { type GroupShare, isWorker, serveAsWorker } from "./worker.js";

/** One place more is kept for a restart. */
const MOST_WORKERS = 127;
/** How long a worker's event loop may be held up. */
const STUCK_MS = 30_000;
/** A worker says something every second. */
const LEAST_STUCK_MS = 3000;
const MOST_STUCK_MS = 2 ** 31 - 1;

let begun = false;

/**
 * Serves by several processes that run this same program: in the first one this starts and keeps them, and in each of them
 * it serves by `start`.
 */
export async function serveWorkers<Context>(
  options: ServeOptions<Context>,
  start: (share: GroupShare) => Promise<Server>,
): Promise<Server> {
  const size = sizeOf(options.workers);
  if (begun) throw new TypeError("serve() with the option workers can be called once in a process");
  begun = true;
  if (isWorker) return serveAsWorker(start);
  if (cluster.isWorker) {
    throw new TypeError(
      "serve() with the option workers starts processes itself: call it in the primary of node:cluster",
    );
  }
  const { workerStuckMs: stuckMs = STUCK_MS } = options;
  if (!(stuckMs >= LEAST_STUCK_MS && stuckMs <= MOST_STUCK_MS)) {
    throw new TypeError(`the option workerStuckMs is from ${LEAST_STUCK_MS} to ${MOST_STUCK_MS}, not ${stuckMs}`);
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const again = (): void => void (begun = false);
  try {
    const targets = targetsOf(options);
    await removeAbandonedFiles(targets);
    return await retryTaken(targets.some(isAnyPort), async () => {
      const ports = bindPorts(options, targets, size + 1);
      const passed = targets.some(isPassed) ? new PassedListeners(passedSockets()) : undefined;
      const server = new PrimaryServer(ports, passed, size, errorHook(options.onError), stuckMs, limits);
      server.onEnd = again;
      await server.start(targets.flatMap(({ descriptor }) => descriptor ?? []));
      if (passed !== undefined) await notifyReady();
      return server;
    });
  } catch (error) {
    again();
    throw error;
  }
}

/** Whether the system chooses a UDP port, of whose number the TCP port beside it may be taken. */
function isAnyPort(target: ProvidedTarget): boolean {
  return target.port === 0 && isOverUdp(target) && !isPassed(target);
}

/** Removes socket files that a process has left which was killed: once for all workers, of which the first may have made another by then. */
async function removeAbandonedFiles(targets: readonly ProvidedTarget[]): Promise<void> {
  const files = targets.filter((target) => target.scheme === "unix:" && !isPassed(target));
  if (files.length === 0) return;
  const { removeAbandoned } = await import("../listen/abandoned-socket.js");
  for (const { path } of files) await removeAbandoned(path);
}

function sizeOf(workers: ServeOptions["workers"]): number {
  const size = workers === "auto" ? availableParallelism() : workers;
  if (Number.isInteger(size) && Number(size) >= 1 && Number(size) <= MOST_WORKERS) return Number(size);
  throw new TypeError(`the option workers is "auto" or an integer from 1 to ${MOST_WORKERS}, not ${String(workers)}`);
}

/** Binds the UDP ports, or takes sockets of those that were passed: a place for each worker. */
function bindPorts<Context>(
  { connectionIds }: ServeOptions<Context>,
  targets: readonly ProvidedTarget[],
  places: number,
): readonly PortGroup[] {
  const ports: PortGroup[] = [];
  const ids = connectionIds === undefined ? {} : { connectionIds };
  for (const target of targets) {
    if (!isOverUdp(target)) continue;
    const { host, port, datagramDescriptors: descriptors } = target;
    try {
      if (descriptors === undefined) {
        ports.push(PortGroup.bind({ port, places, ...(host !== undefined && { host }), ...ids }));
      } else {
        warnOfBlocking(descriptors);
        ports.push(PortGroup.inherit({ descriptors, places, ...ids }));
      }
    } catch (error) {
      for (const bound of ports) bound.close();
      throw transportError(error, { doing: "listen on", url: urlOf(target) });
    }
  }
  return ports;
}
