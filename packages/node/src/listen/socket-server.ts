import type { AddressInfo, ListenOptions, Server, Socket } from "node:net";
import { type HeldReads, holdReads } from "./held-reads.js";
import type { ConnectionLimiter } from "./connection-limiter.js";
import type { PendingConnection } from "./pending-connection.js";
import { sourceIn } from "./places.js";
import type { HandedConnections, Listener, ListenTarget } from "./listener.js";
import { readProxyHeader, type TrustedProxies } from "./proxy-protocol.js";
import { reportRefusal } from "../refusals.js";
import { WaitingBytes } from "./waiting-bytes.js";
import type { EventEmitter } from "node:events";

/** Host address and port of a socket. */
export interface SocketName {
  readonly host: string;
  readonly port: number;
}

/** A connection that a server has accepted. */
export interface AcceptedSocket {
  readonly pending: PendingConnection;
  /** Address of the client. Undefined for a Unix socket. */
  readonly remoteAddress: SocketName | undefined;
}

/** Maximum total number of bytes received from connections that wait for the connection limiter. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * The connections that a server has accepted. Nothing is read from a connection until the connection limiter has room
 * for it.
 */
export class AcceptedSockets {
  readonly sockets: Set<Socket> = new Set();
  /** URL of the listener. Empty until the server listens; connections that arrive earlier wait. */
  url = "";
  private readonly limiter: ConnectionLimiter;
  private readonly isTls: boolean;
  /** Bytes sent to a refused connection, or undefined if its protocol has no such message. */
  private readonly refusal: string | undefined;
  /** Number of refused connections that are still open. */
  private refused = 0;
  private readonly waitingBytes: WaitingBytes = new WaitingBytes(MAX_WAITING_BYTES);
  /**
   * Connections that arrived before the server listened. In a cluster, the primary may pass connections to a worker
   * before it reports that the worker listens.
   */
  private readonly early: (() => void)[] = [];
  /** Accepted sockets, by socket. Also by remote address, because TLS events may only provide a wrapped socket. */
  private readonly acceptedSockets: Map<Socket | string, AcceptedSocket> = new Map();
  /** Accepted sockets whose TLS handshake has not finished. */
  private readonly shaking: Set<AcceptedSocket> = new Set();

  /**
   * Diverts the server's `connection` events: listeners that the server has now receive a connection only after the
   * limiter has accepted it.
   * @param refusal bytes to send to a refused connection. Default: none
   */
  constructor(server: Server, limiter: ConnectionLimiter, proxies: TrustedProxies | undefined, refusal?: string) {
    this.limiter = limiter;
    this.refusal = refusal;
    this.isTls = "setSecureContext" in server;
    server.on("tlsClientError", (error: Error, socket: Socket) => {
      const accepted = this.acceptedSockets.get(nameOf(socket));
      // A closed socket has no address; the end of its connection is reported instead.
      if (accepted !== undefined) this.refuseHandshake(accepted, error.message, error);
    });
    server.on("secureConnection", (socket: Socket) => {
      const accepted = this.acceptedSockets.get(nameOf(socket));
      if (accepted !== undefined) this.shaking.delete(accepted);
    });
    divert(server, "connection", (pass, socket: Socket) => {
      // Without a listener an error in the TLS or HTTP handshake would end the process.
      socket.on("error", () => {});
      const acceptSocket = (): void => this.acceptSocket(socket, proxies?.has(socket) === true, pass);
      if (this.url === "") this.early.push(acceptSocket);
      else acceptSocket();
      return true;
    });
  }

  open(url: string): void {
    this.url = url;
    for (const acceptSocket of this.early.splice(0)) acceptSocket();
  }

  /** Returns the accepted socket for a connection of the server, or undefined if the connection has closed. */
  acceptedOf(socket: Socket): AcceptedSocket | undefined {
    const known = this.acceptedSockets.get(socket);
    if (known !== undefined) return known;
    const accepted = this.acceptedSockets.get(nameOf(socket));
    if (accepted !== undefined && !socket.destroyed) {
      // Its next request finds the accepted without a name.
      this.acceptedSockets.set(socket, accepted);
      socket.once("close", () => this.acceptedSockets.delete(socket));
    }
    return accepted;
  }

  private acceptSocket(socket: Socket, proxied: boolean, pass: () => void): void {
    if (socket.destroyed) return;
    this.sockets.add(socket);
    socket.once("close", () => this.sockets.delete(socket));
    const remoteAddress = remoteAddressOf(socket);
    const welcome = (pending: PendingConnection, remoteAddress: SocketName | undefined): void => {
      const accepted = { pending, remoteAddress };
      const names = [socket, nameOf(socket)].filter((name) => name !== "");
      for (const name of names) this.acceptedSockets.set(name, accepted);
      if (this.isTls) this.shaking.add(accepted);
      socket.once("close", () => {
        this.refuseHandshake(accepted, "the connection ended during the TLS handshake");
        for (const name of names) this.acceptedSockets.delete(name);
      });
      pass();
    };
    if (!proxied) {
      this.awaitPlace(socket, remoteAddress, (pending) => welcome(pending, remoteAddress));
      return;
    }
    // A balancer's own address has no share: its clients' have.
    this.awaitPlace(socket, undefined, (pending) => {
      readProxyHeader(socket, (header) => {
        const source = header?.source;
        if (header === undefined) socket.destroy();
        else if (source === undefined) welcome(pending, remoteAddress);
        else {
          pending.ended();
          this.awaitPlace(socket, source, (pending) => welcome(pending, source));
        }
      });
    });
  }

  /**
   * Calls `onPlace` with the pending connection as soon as the limiter has room. Refuses the connection if the limiter
   * refuses it.
   */
  private awaitPlace(
    socket: Socket,
    remoteAddress: SocketName | undefined,
    onPlace: (pending: PendingConnection) => void,
  ): void {
    const close = (): void => void socket.destroy();
    let heldReads: HeldReads | undefined = undefined;
    let settled = false;
    const settle = (): void => {
      settled = true;
      this.waitingBytes.remove(waiting);
    };
    const waiting = this.waitingBytes.add(sourceIn(remoteAddress?.host), close);
    const cancelWait = this.limiter.arrive({
      address: remoteAddress?.host,
      close,
      onPlace: (pending) => {
        settle();
        socket.once("close", () => pending.ended());
        if (socket.destroyed) return;
        heldReads?.release();
        onPlace(pending);
      },
      refuse: () => {
        settle();
        heldReads?.release();
        this.refuse(socket, remoteAddress);
      },
    });
    if (settled) return;
    heldReads = holdReads(socket, (bytes) => this.waitingBytes.count(waiting, bytes));
    socket.once("close", () => {
      cancelWait();
      settle();
    });
  }

  /** Sends the refusal message to a refused connection, if the protocol has one, and closes the connection. */
  private refuse(socket: Socket, remoteAddress: SocketName | undefined): void {
    const reason =
      "the limit of connections is reached, in total or for this address (transport.maxSessions, maxHandshakes)";
    reportRefusal(() => ({ stage: "connection", listener: this.url, remoteAddress, reason }));
    const { maxHandshakes, maxCloseMs } = this.limiter.limits;
    if (this.refusal === undefined || this.refused >= maxHandshakes) {
      socket.destroy();
      return;
    }
    this.refused++;
    const timer = setTimeout(() => socket.destroy(), maxCloseMs).unref();
    socket.once("close", () => {
      this.refused--;
      clearTimeout(timer);
    });
    socket.end(this.refusal);
    // The system resets a connection whose received bytes were not read, and the client may then lose the response.
    socket.resume();
  }

  /** Reports a failed TLS handshake once. Does nothing if the handshake has already ended. */
  private refuseHandshake(accepted: AcceptedSocket, reason: string, error?: Error): void {
    if (!this.shaking.delete(accepted)) return;
    const { remoteAddress } = accepted;
    reportRefusal(() => ({ stage: "handshake", listener: this.url, remoteAddress, reason, error }));
  }
}

/** Returns the peer's address and port as a map key, or "" if the socket has no address. */
function nameOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? "" : `${remoteAddress} ${remotePort}`;
}

type ListeningPlace = ListenOptions | { readonly fd: number } | HandedConnections;

/**
 * Returns where `server.listen` shall listen: a TCP address, or a socket passed to this process. Connections that
 * another process accepts are returned unchanged.
 */
export function listeningPlaceOf({ host, port, descriptor, handed }: ListenTarget): ListeningPlace {
  if (handed !== undefined) return handed;
  if (descriptor !== undefined) return { fd: descriptor };
  return { port, ...(host !== undefined && { host }) };
}

/** Starts a TCP-like server. Rejects with the system's error, such as `EADDRINUSE`. */
export function startServer(server: Server, options: ListeningPlace): Promise<void> {
  if ("takenBy" in options) {
    // At this event, HTTP servers start to check their time limits.
    server.emit("listening");
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      // If accepting a connection fails, for example because there are too many descriptors, existing sessions are not
      // affected.
      server.on("error", () => {});
      resolve();
    });
  });
}

/** Returns a running server as a `Listener`, and starts accepting its connections. */
export function socketListener(
  server: Server,
  acceptedSockets: AcceptedSockets,
  { handed }: ListenTarget,
  urlOf: (authority: string) => string,
): Listener {
  const address = handed === undefined ? server.address() : handed.address;
  const bound = address !== null && typeof address === "object" ? boundAddress(address) : undefined;
  const url = urlOf(bound === undefined ? "" : authority(bound));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      refuse?.();
      server.close(() => resolve());
    });
    return stopped;
  };
  acceptedSockets.open(url);
  const refuse = handed?.takenBy((socket) => void server.emit("connection", socket));
  return {
    url,
    address: bound,
    stop: () => void stop(),
    close: async () => {
      const done = stop();
      for (const socket of acceptedSockets.sockets) socket.destroy();
      await done;
    },
    ref: () => void server.ref(),
    unref: () => void server.unref(),
  };
}

function remoteAddressOf({ remoteAddress, remotePort }: Socket): SocketName | undefined {
  return remoteAddress === undefined ? undefined : { host: remoteAddress, port: remotePort ?? 0 };
}

function boundAddress({ address, port }: AddressInfo): { host: string; port: number } {
  return { host: address, port };
}

function authority({ host, port }: { host: string; port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Passes each `event` to `takes` before the listeners that exist now. They receive the event if `takes` returns false,
 * or when `takes` calls `pass`.
 */
export function divert<Args extends readonly unknown[]>(
  emitter: EventEmitter,
  event: string,
  takes: (pass: () => void, ...args: Args) => boolean,
): void {
  const listeners = emitter.listeners(event);
  emitter.removeAllListeners(event);
  emitter.on(event, (...args: unknown[]) => {
    const pass = (): void => {
      for (const listener of listeners) Reflect.apply(listener, emitter, args);
    };
    if (!takes(pass, ...(args as unknown as Args))) pass();
  });
}
