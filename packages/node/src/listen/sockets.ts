import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TransportKind } from "../peer.js";
import { ALPN } from "../protocol.js";
import { socketTransport } from "../stream/node-stream.js";
import { isWorker } from "../workers/worker.js";
import {
  type IncomingPeer,
  type IncomingSession,
  type Listener,
  type ListenSettings,
  type ListenTarget,
  placed,
} from "./listener.js";
import { ConnectionLimiter, connectionLimits } from "./connection-limiter.js";
import { holdReads } from "./held-reads.js";
import { AcceptedSockets, listeningPlaceOf, socketListener, startServer } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";
import { ServerTls } from "./tls-settings.js";
import { lstat, rm } from "node:fs/promises";

/** Listens for `tcp://`, without encryption, for trusted networks. */
export async function listenTcp(
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
): Promise<Listener> {
  const server = createServer({ noDelay: true });
  return accept("tcp", server, "connection", target, settings, onIncoming);
}

export async function listenTls(
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
): Promise<Listener> {
  const tls = new ServerTls(settings);
  const server = createTlsServer({ ...tls.options, ALPNProtocols: [ALPN] });
  const listener = await accept("tls", server, "secureConnection", target, settings, onIncoming);
  return { ...listener, updateTls: (settings) => tls.update(server, settings) };
}

/**
 * Listens for `unix:/path`. Replaces a socket file that a dead process has left. The process's umask determines the
 * file's permissions.
 */
export async function listenUnix(
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
): Promise<Listener> {
  // In a worker, the primary has already removed old files; a file that exists now may belong to another worker.
  if (target.descriptor === undefined && !isWorker) await removeAbandoned(target.path);
  return accept("unix", createServer(), "connection", target, settings, onIncoming);
}

async function accept(
  kind: TransportKind & ("tcp" | "tls" | "unix"),
  server: Server,
  event: "connection" | "secureConnection",
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
): Promise<Listener> {
  const { limits, transport } = settings;
  server.on(event, (socket: Socket) => {
    const accepted = acceptedSockets.acceptedOf(socket);
    if (accepted === undefined) {
      socket.destroy();
      return;
    }
    if (kind === "tls") socket.setNoDelay(true);
    const { pending, remoteAddress } = accepted;
    pending.hold(holdReads(socket));
    const options = placed(pending, limits, () => session);
    const session = socketTransport(socket, "server", options);
    onIncoming({
      pending,
      refusal: certificateRefusal(socket, settings),
      transport: session,
      peer: new SocketPeer(kind, acceptedSockets.url, remoteAddress, verifiedCertificate(socket)),
    });
  });
  const limiter = new ConnectionLimiter(connectionLimits(transport, limits));
  const acceptedSockets = new AcceptedSockets(server, limiter, settings.trustedProxies);
  const { path, descriptor } = target;
  await startServer(server, kind === "unix" && descriptor === undefined ? { path } : listeningPlaceOf(target));
  return socketListener(server, acceptedSockets, target, (authority) =>
    kind === "unix" ? `unix:${path}` : `${kind}://${authority}`,
  );
}

/**
 * Peer of a socket session. This is a class because V8 would allocate the getters of an object literal in the old
 * generation; see `PeerWithGreeting` in greeted-peer.ts.
 */
class SocketPeer implements IncomingPeer {
  readonly transport: IncomingPeer["transport"];
  readonly listener: string;
  readonly remoteAddress: IncomingPeer["remoteAddress"];
  readonly path: undefined = undefined;
  readonly origin: undefined = undefined;
  readonly certificate: IncomingPeer["certificate"];
  readonly earlyData: boolean = false;
  readonly handshake: Promise<void> = Promise.resolve();
  #headers: Headers | undefined = undefined;

  constructor(
    transport: IncomingPeer["transport"],
    listener: string,
    remoteAddress: IncomingPeer["remoteAddress"],
    certificate: IncomingPeer["certificate"],
  ) {
    this.transport = transport;
    this.listener = listener;
    this.remoteAddress = remoteAddress;
    this.certificate = certificate;
  }

  /**
   * Header fields of the request. Created when first used, because the first `Headers` object makes Node load all of
   * `fetch`.
   */
  get headers(): Headers {
    this.#headers ??= new Headers();
    return this.#headers;
  }
}

/** Removes a Unix socket file if no process listens on it, for example after a process was killed. */
export async function removeAbandoned(path: string): Promise<void> {
  if (await isAbandoned(path)) await rm(path, { force: true });
}

async function isAbandoned(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined || !stats.isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
