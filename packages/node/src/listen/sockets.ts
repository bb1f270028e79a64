import { lstat, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TransportKind } from "../peer.js";
import { ALPN } from "../protocol.js";
import { nodeStreamTransport } from "../stream/node-stream.js";
import { type Arrival, type Listener, type ListenSettings, type ListenTarget, placed } from "./listener.js";
import { Door, doorLimits } from "./door.js";
import { holdReads } from "./held-reads.js";
import { Guests, socketListener, startServer } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";
import { ServerTls } from "./tls-settings.js";

/** Listens for `tcp://`: without encryption, for a network that is trusted. */
export async function listenTcp(
  { host, port }: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const server = createServer({ noDelay: true });
  return accept("tcp", server, "connection", { port, host }, settings, onArrival);
}

/** Listens for `tls://`: TLS 1.3 over TCP. */
export async function listenTls(
  { host, port }: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const tls = new ServerTls(settings);
  const server = createTlsServer({ ...tls.options, ALPNProtocols: [ALPN] });
  const listener = await accept("tls", server, "secureConnection", { port, host }, settings, onArrival);
  return { ...listener, updateTls: (settings) => tls.update(server, settings) };
}

/** Listens for `unix:/path`. A socket file that a dead process has left is replaced; its access rights are the umask's. */
export async function listenUnix(
  { path }: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  if (await isAbandoned(path)) await unlink(path);
  return accept("unix", createServer(), "connection", { path }, settings, onArrival);
}

async function accept(
  kind: TransportKind & ("tcp" | "tls" | "unix"),
  server: Server,
  event: "connection" | "secureConnection",
  where: { port: number; host: string | undefined } | { path: string },
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const { limits, transport } = settings;
  server.on(event, (socket: Socket) => {
    const guest = guests.of(socket);
    if (guest === undefined) {
      socket.destroy();
      return;
    }
    if (kind === "tls") socket.setNoDelay(true);
    const { visit, remoteAddress } = guest;
    visit.hold(holdReads(socket));
    const options = placed(visit, limits, () => session);
    const session = nodeStreamTransport({ readable: socket, writable: socket }, "server", options);
    onArrival({
      visit,
      refusal: certificateRefusal(socket, settings),
      transport: session,
      peer: {
        transport: kind,
        listener: listener.url,
        remoteAddress,
        headers: new Headers(),
        path: undefined,
        origin: undefined,
        certificate: verifiedCertificate(socket),
        earlyData: false,
        handshake: Promise.resolve(),
      },
    });
  });
  const door = new Door(doorLimits(transport, limits));
  const guests = new Guests(server, door, settings.trustedProxies, () => listener.url);
  await startServer(
    server,
    "path" in where ? where : { port: where.port, ...(where.host !== undefined && { host: where.host }) },
  );
  const listener = socketListener(server, guests.sockets, (authority) =>
    "path" in where ? `unix:${where.path}` : `${kind}://${authority}`,
  );
  return listener;
}

/** Whether there is a socket file behind which nobody listens. */
async function isAbandoned(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || !found.isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
