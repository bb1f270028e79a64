// Runs in the program's process, before the program: reports to `quicrpc dev` on which addresses its servers listen,
// and drains them on request.
import { subscribe } from "node:diagnostics_channel";
import type { Server } from "@quicrpc/node";
import { type AddressTaken, DEV_VARIABLE, type DrainMessage, type Listening } from "./messages.js";

// Processes that the program starts inherit the variable, and this module too.
if (process.env[DEV_VARIABLE] === String(process.ppid) && process.send !== undefined) {
  const servers = new Set<Server>();
  subscribe("quicrpc:serving", (message) => {
    const server = message as Server;
    servers.add(server);
    process.send?.({ quicrpc: "listening", urls: server.urls } satisfies Listening);
  });
  process.on("uncaughtExceptionMonitor", (error: NodeJS.ErrnoException | null) => {
    // The program ends unless it has a handler of its own.
    if (error?.code === "EADDRINUSE" && process.listenerCount("uncaughtException") === 0)
      process.send?.({ quicrpc: "addressTaken", message: error.message } satisfies AddressTaken);
  });
  process.on("message", (message: DrainMessage | undefined) => {
    if (message?.quicrpc !== "drain") return;
    const { timeoutMs } = message;
    void Promise.all(Array.from(servers, (server) => server.drain({ timeoutMs }))).finally(() => process.exit(0));
  });
  // The listener above must not keep a program running that has nothing left to do.
  process.channel?.unref();
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
}
