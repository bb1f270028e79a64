import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TransportKind } from "../peer.js";
import { ALPN } from "../protocol.js";
import { socketTransport } from "../stream/node-stream.js";
import { isWorker } from "../workers/worker.js";
import { removeAbandoned } from "./abandoned-socket.js";
import {
  type Arrival,
  type ArrivingPeer,
  type Listener,
  type ListenSettings,
  type ListenTarget,
  placed,
} from "./listener.js";
import { Door, doorLimits } from "./door.js";
import { holdReads } from "./held-reads.js";
import { Guests, placeOf, socketListener, startServer } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";
import { ServerTls } from "./tls-settings.js";

/** Listens for `tcp://`, without encryption, for trusted networks. */
export async function listenTcp(
  target: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const server = createServer({ noDelay: true });
  return accept("tcp", server, "connection", target, settings, onArrival);
}

/** Listens for `tls://`: TLS 1.3 over TCP. */
export async function listenTls(
  target: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const tls = new ServerTls(settings);
  const server = createTlsServer({ ...tls.options, ALPNProtocols: [ALPN] });
  const listener = await accept("tls", server, "secureConnection", target, settings, onArrival);
  return { ...listener, updateTls: (settings) => tls.update(server, settings) };
}

/** Listens for `unix:/path`. Replaces a socket file that a dead process left. The umask determines its permissions. */
export async function listenUnix(
  target: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  // The primary of workers has removed it: what a worker finds may be another's.
  if (target.descriptor === undefined && !isWorker) await removeAbandoned(target.path);
  return accept("unix", createServer(), "connection", target, settings, onArrival);
}

async function accept(
  kind: TransportKind & ("tcp" | "tls" | "unix"),
  server: Server,
  event: "connection" | "secureConnection",
  target: ListenTarget,
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
    const session = socketTransport(socket, "server", options);
    onArrival({
      visit,
      refusal: certificateRefusal(socket, settings),
      transport: session,
      peer: new SocketPeer(kind, guests.url, remoteAddress, verifiedCertificate(socket)),
    });
  });
  const door = new Door(doorLimits(transport, limits));
  const guests = new Guests(server, door, settings.trustedProxies);
  const { path, descriptor } = target;
  await startServer(server, kind === "unix" && descriptor === undefined ? { path } : placeOf(target));
  return socketListener(server, guests, target, (authority) =>
    kind === "unix" ? `unix:${path}` : `${kind}://${authority}`,
  );
}

/**
 * Peer of a socket session. The getters are on the class for the reason given at `PeerWithGreeting` in greeted-peer.ts.
 */
class SocketPeer implements ArrivingPeer {
  readonly transport: ArrivingPeer["transport"];
  readonly listener: string;
  readonly remoteAddress: ArrivingPeer["remoteAddress"];
  readonly path: undefined = undefined;
  readonly origin: undefined = undefined;
  readonly certificate: ArrivingPeer["certificate"];
  readonly earlyData: boolean = false;
  readonly handshake: Promise<void> = Promise.resolve();
  #headers: Headers | undefined = undefined;

  constructor(
    transport: ArrivingPeer["transport"],
    listener: string,
    remoteAddress: ArrivingPeer["remoteAddress"],
    certificate: ArrivingPeer["certificate"],
  ) {
    this.transport = transport;
    this.listener = listener;
    this.remoteAddress = remoteAddress;
    this.certificate = certificate;
  }

  /** Created on first use: Node loads all of `fetch` for the first `Headers`. */
  get headers(): Headers {
    this.#headers ??= new Headers();
    return this.#headers;
  }
}
