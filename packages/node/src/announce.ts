import { channel } from "node:diagnostics_channel";
import type { Server } from "./server.js";

/** The name of the channel of `node:diagnostics_channel` that gets each `Server` of this process once it listens. */
const serving = channel("quicrpc:serving");

/** Gives a server to those who listen for servers of this process, such as `quicrpc dev`. */
export function announce(server: Server): Server {
  serving.publish(server);
  return server;
}
