import { channel } from "node:diagnostics_channel";
import type { Server } from "./server.js";

/** Channel of `node:diagnostics_channel` that receives each `Server` of this process once it listens. */
const serving = channel("quicrpc:serving");

/** Publishes a server to listeners in this process, such as `quicrpc dev`. */
export function announce(server: Server): Server {
  serving.publish(server);
  return server;
}
