import cluster from "node:cluster";
import { once } from "node:events";
import { targetsOf } from "../listen/listen.js";
import type { Server } from "../server.js";
import type { ServeSettings } from "../serve-options.js";
import { type PortShare, SHARED_VARIABLE, type ToWorker } from "./messages.js";
import { describePorts } from "./shared-ports.js";
import { followEnd, type GroupShare, groupShare, sendToPrimary, reportReady } from "./worker.js";

/**
 * True if this process is a worker that a program forked with node:cluster, and the program shares its UDP ports
 * (`shareUdpPorts`).
 */
export const sharesPorts: boolean = cluster.isWorker && process.env[SHARED_VARIABLE] === String(process.ppid);

let serving = false;

/**
 * Calls `start`, with the UDP ports that the primary shares if `listen` names them. Rejects with
 * `TypeError` if `listen` does not name exactly these ports, if the connection ids differ, or if this worker has
 * already served them.
 */
export async function serveShared<Context>(
  options: ServeSettings<Context>,
  start: (share?: GroupShare) => Promise<Server>,
): Promise<Server> {
  const required = describePorts(targetsOf(options), options.connectionIds);
  if (!sharesPorts || required.urls.length === 0) return start();
  const share = await askForShare();
  const { urls, ids } = share.ports;
  if (!required.urls.some((url) => urls.includes(url))) return start();
  if (required.urls.join() !== urls.join() || required.ids !== ids) {
    throw new TypeError(
      `the primary shares ${urls.join(", ")} (shareUdpPorts), but this worker serves ${required.urls.join(", ")}: pass both the same \`listen\` and \`connectionIds\``,
    );
  }
  if (serving)
    throw new TypeError("a worker can only use the ports that the primary shares with one serve() at a time");
  serving = true;
  try {
    const server = await start(groupShare(share));
    followEnd(server, (whenClosed) => void whenClosed.then(() => (serving = false)));
    reportReady(server);
    return server;
  } catch (error) {
    serving = false;
    throw error;
  }
}

async function askForShare(): Promise<PortShare> {
  sendToPrimary({ quicrpc: "share" });
  for (;;) {
    const [message] = (await once(process, "message")) as [ToWorker | null];
    if (message?.quicrpc === "shared") return message.share;
    if (message?.quicrpc === "unshared") throw new TypeError(`the primary shares no port: ${message.reason}`);
  }
}
