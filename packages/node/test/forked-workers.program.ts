// A primary of node:cluster that forks its workers by itself, and replaces those that end. See forked-workers.test.ts.
import cluster from "node:cluster";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { type AdvancedServeOptions, serve, type ServeOptions, shareUdpPorts } from "@quicrpc/node";
import { workerTopics } from "@quicrpc/node/topics";
import { routerOf, serveRooms } from "../../../test/rooms.js";

interface Settings {
  readonly steering: string;
  readonly size: number;
  /** What the primary shares, and what each worker serves. */
  readonly shared: Pick<AdvancedServeOptions, "connectionIds"> &
    Pick<ServeOptions, "listen"> & { readonly places?: number };
  readonly served: Pick<ServeOptions, "advanced" | "listen" | "tls">;
  readonly stdio?: "replaced";
}

const { steering, size, shared, served, stdio } = JSON.parse(process.argv[2] ?? "") as Settings;
const service = { name: "test.v1.Forked", id: 7052 };
const any = uncheckedCodec<unknown>();
const methods = {
  pid: defineMethod(service, "unary", "pid", { id: 1, output: any }),
  drain: defineMethod(service, "notify", "drain", { id: 3 }),
  crash: defineMethod(service, "notify", "crash", { id: 4 }),
  slow: defineMethod(service, "unary", "slow", { id: 5 }),
};

async function keep(): Promise<void> {
  process.env["QUICRPC_STEERING"] = steering;
  const { ports } = await shareUdpPorts(shared);
  if (stdio === "replaced") cluster.setupPrimary({ stdio: ["inherit", "inherit", "inherit", "ipc"] });
  const pids = new Set<number>();
  const fork = (): void => {
    const worker = cluster.fork();
    worker.on("message", (told: { readonly pid?: number; readonly left?: number; readonly failed?: string }) => {
      if (told.failed !== undefined || told.left !== undefined) process.send?.(told);
      if (told.pid === undefined) return;
      pids.add(told.pid);
      if (pids.size === size) process.send?.({ ports, pids: [...pids] });
    });
    worker.once("exit", () => {
      pids.delete(worker.process.pid ?? 0);
      if (process.connected) fork();
    });
  };
  for (let i = 0; i < size; i++) fork();
}

async function work(): Promise<void> {
  const rooms = serveRooms(workerTopics(), undefined, false);
  const router = createRouter(methods, {
    pid: () => process.pid,
    drain: () => {
      void server.drain();
      process.send?.({ left: process.pid });
    },
    crash: () => void process.kill(process.pid, "SIGKILL"),
    slow: () => new Promise<never>(() => {}),
  });
  const server = await serve({ ...served, routers: [router, routerOf(rooms)], onError: () => {} });
  process.send?.({ pid: process.pid });
}

if (cluster.isPrimary) await keep();
else await work().catch((error: Error) => process.send?.({ failed: `${error.name}: ${error.message}` }));
