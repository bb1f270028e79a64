import type { AddressInfo, ListenOptions, Server, Socket } from "node:net";
import type { Listener } from "./listener.js";

/** Starts a TCP-like server; rejects with the system's error, such as `EADDRINUSE`. */
export function startServer(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      // An error of one accept (no descriptor left) concerns no session that there is.
      server.on("error", () => {});
      resolve();
    });
  });
}

/** The face of a server whose sockets are `sockets`. */
export function socketListener(
  server: Server,
  sockets: ReadonlySet<Socket>,
  url: (authority: string) => string,
): Listener {
  const address = server.address();
  const bound = address !== null && typeof address === "object" ? boundAddress(address) : undefined;
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      server.close(() => resolve());
    });
    return stopped;
  };
  return {
    url: url(bound === undefined ? "" : authority(bound)),
    address: bound,
    stop: () => void stop(),
    close: async () => {
      const done = stop();
      for (const socket of sockets) socket.destroy();
      await done;
    },
    ref: () => void server.ref(),
    unref: () => void server.unref(),
  };
}

/** Keeps the set of a server's sockets. */
export function trackSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    // An error in the TLS or HTTP handshake would end the process if nobody listened.
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/** The other end's address. */
export function remoteAddressOf({ remoteAddress, remotePort }: Socket): { host: string; port: number } | undefined {
  return remoteAddress === undefined ? undefined : { host: remoteAddress, port: remotePort ?? 0 };
}

function boundAddress({ address, port }: AddressInfo): { host: string; port: number } {
  return { host: address, port };
}

function authority({ host, port }: { host: string; port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
