import type { AddressInfo, ListenOptions, Server, Socket } from "node:net";
import { type HeldReads, holdReads } from "./held-reads.js";
import type { ConnectionLimiter, PendingConnection } from "./connection-limiter.js";
import { sourceIn } from "./places.js";
import type { HandedConnections, Listener, ListenTarget } from "./listener.js";
import { readProxyHeader, type TrustedProxies } from "./proxy-protocol.js";
import { reportRefusal } from "../refusals.js";
import { WaitingBytes } from "./waiting-bytes.js";
import type { EventEmitter } from "node:events";

/** An address and its port. */
export interface SocketName {
  readonly host: string;
  readonly port: number;
}

/** A connection that a server has accepted. */
export interface AcceptedSocket {
  readonly pending: PendingConnection;
  /** Undefined for a Unix socket. */
  readonly remoteAddress: SocketName | undefined;
}

/** Maximum number of bytes that all waiting connections together may have sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The accepted connections of a server. Nothing is read from those for which the limiter has no room yet. */
export class AcceptedSockets {
  readonly sockets: Set<Socket> = new Set();
  /** URL of the listener. Empty until it listens; connections wait until then. */
  url = "";
  private readonly limiter: ConnectionLimiter;
  private readonly isTls: boolean;
  /** Bytes sent to a refused connection, or undefined if its protocol has no such message. */
  private readonly refusal: string | undefined;
  /** Number of refused connections that are still open. */
  private refused = 0;
  private readonly waitingBytes: WaitingBytes = new WaitingBytes(MAX_WAITING_BYTES);
  /**
   * Connections that arrived earlier: a cluster's primary may pass connections to a worker before reporting that the
   * worker listens.
   */
  private readonly early: (() => void)[] = [];
  /** Accepted sockets by socket, or by remote address if TLS hides the socket. */
  private readonly acceptedSockets: Map<Socket | string, AcceptedSocket> = new Map();
  /** Accepted sockets whose TLS handshake is in progress. */
  private readonly shaking: Set<AcceptedSocket> = new Set();

  /**
   * The listeners that the server has for connections by now get only those that found room.
   * @param refusal bytes that a connection gets that is refused. Default: none
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

  /** Accepts connections from now on: the listener has a URL. */
  open(url: string): void {
    this.url = url;
    for (const acceptSocket of this.early.splice(0)) acceptSocket();
  }

  /** Returns the accepted socket of a connection, or undefined if it has closed. */
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

  /** Calls `onPlace` with the pending connection once the limiter has room for it. */
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

  /** Ends a connection that gets no place. */
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
    // A connection whose bytes were not read is reset as it closes, and the client may lose the answer.
    socket.resume();
  }

  /** Reports a failed handshake, unless the connection has already ended. */
  private refuseHandshake(accepted: AcceptedSocket, reason: string, error?: Error): void {
    if (!this.shaking.delete(accepted)) return;
    const { remoteAddress } = accepted;
    reportRefusal(() => ({ stage: "handshake", listener: this.url, remoteAddress, reason, error }));
  }
}

/** Returns the name of the peer's address, or "" if it has none. */
function nameOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? "" : `${remoteAddress} ${remotePort}`;
}

type ListeningPlace = ListenOptions | { readonly fd: number } | HandedConnections;

/**
 * Returns the arguments for `server.listen`: a TCP address, a socket that was passed to this process, or a server whose
 * connections are passed on.
 */
export function listeningPlaceOf({ host, port, descriptor, handed }: ListenTarget): ListeningPlace {
  if (handed !== undefined) return handed;
  if (descriptor !== undefined) return { fd: descriptor };
  return { port, ...(host !== undefined && { host }) };
}

/** Starts a TCP-like server. Rejects with the system's error, such as `EADDRINUSE`. */
export function startServer(server: Server, options: ListeningPlace): Promise<void> {
  if ("takenBy" in options) {
    // Servers of HTTP begin to check their time limits at this event.
    server.emit("listening");
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      // A failed accept, such as for lack of descriptors, affects no existing session.
      server.on("error", () => {});
      resolve();
    });
  });
}

/** Returns a started server as a `Listener`, and accepts its connections. */
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

/** Returns the peer's address. */
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
 * Calls `takes` before the current listeners of `event`. They receive only events that `takes` rejects, or later passes
 * on by calling `pass`.
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
