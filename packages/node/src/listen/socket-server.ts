import type { AddressInfo, ListenOptions, Server, Socket } from "node:net";
import { divert } from "./divert.js";
import { type HeldReads, holdReads } from "./held-reads.js";
import type { Door, Visit } from "./door.js";
import type { HandedConnections } from "./handed-connections.js";
import type { Listener, ListenTarget } from "./listener.js";
import { readProxyHeader, type TrustedProxies } from "./proxy-protocol.js";
import { tellRefusal } from "../refusals.js";

/** An address and its port. */
export interface SocketName {
  readonly host: string;
  readonly port: number;
}

/** A connection that a server has accepted. */
export interface Guest {
  readonly visit: Visit;
  /** Undefined for a Unix socket. */
  readonly remoteAddress: SocketName | undefined;
}

/** Bytes that connections which wait may have sent together; those that send more are closed. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The connections of a server, from the moment they are accepted. Nothing is read of those for which the door has no room yet. */
export class Guests {
  readonly sockets: Set<Socket> = new Set();
  /** URL of the listener. Empty until it listens; connections wait until then. */
  url = "";
  private readonly door: Door;
  private readonly isTls: boolean;
  /** Bytes that a connection gets that is refused; undefined if its protocol has none for that. */
  private readonly refusal: string | undefined;
  /** Connections that are refused and have not closed. */
  private refused = 0;
  /** Bytes that have arrived on connections that wait. */
  private heldBytes = 0;
  /**
   * Connections that arrived earlier: a cluster's primary may pass connections to a worker before reporting that the
   * worker listens.
   */
  private readonly early: (() => void)[] = [];
  /** Accepted sockets by socket, or by remote address if TLS hides the socket. */
  private readonly guests: Map<Socket | string, Guest> = new Map();
  /** Accepted sockets whose TLS handshake is in progress. */
  private readonly shaking: Set<Guest> = new Set();

  /**
   * The listeners that the server has for connections by now get only those that found room.
   * @param refusal bytes that a connection gets that is refused. Default: none
   */
  constructor(server: Server, door: Door, proxies: TrustedProxies | undefined, refusal?: string) {
    this.door = door;
    this.refusal = refusal;
    this.isTls = "setSecureContext" in server;
    server.on("tlsClientError", (error: Error, socket: Socket) => {
      const guest = this.guests.get(nameOf(socket));
      // One that has ended has no address left: its connection's end tells of it.
      if (guest !== undefined) this.refuseHandshake(guest, error.message, error);
    });
    server.on("secureConnection", (socket: Socket) => {
      const guest = this.guests.get(nameOf(socket));
      if (guest !== undefined) this.shaking.delete(guest);
    });
    divert(server, "connection", (pass, socket: Socket) => {
      // An error in the TLS or HTTP handshake would end the process if nobody listened.
      socket.on("error", () => {});
      const enter = (): void => this.enter(socket, proxies?.has(socket) === true, pass);
      if (this.url === "") this.early.push(enter);
      else enter();
      return true;
    });
  }

  /** Accepts connections from now on: the listener has a URL. */
  open(url: string): void {
    this.url = url;
    for (const enter of this.early.splice(0)) enter();
  }

  /** Returns the accepted socket of a connection, or undefined if it has closed. */
  of(socket: Socket): Guest | undefined {
    const known = this.guests.get(socket);
    if (known !== undefined) return known;
    const guest = this.guests.get(nameOf(socket));
    if (guest !== undefined && !socket.destroyed) {
      // Its next request finds the guest without a name.
      this.guests.set(socket, guest);
      socket.once("close", () => this.guests.delete(socket));
    }
    return guest;
  }

  private enter(socket: Socket, proxied: boolean, pass: () => void): void {
    if (socket.destroyed) return;
    this.sockets.add(socket);
    socket.once("close", () => this.sockets.delete(socket));
    const remoteAddress = remoteAddressOf(socket);
    const welcome = (visit: Visit, remoteAddress: SocketName | undefined): void => {
      const guest = { visit, remoteAddress };
      const names = [socket, nameOf(socket)].filter((name) => name !== "");
      for (const name of names) this.guests.set(name, guest);
      if (this.isTls) this.shaking.add(guest);
      socket.once("close", () => {
        this.refuseHandshake(guest, "the connection ended during the TLS handshake");
        for (const name of names) this.guests.delete(name);
      });
      pass();
    };
    if (!proxied) {
      this.awaitVisit(socket, remoteAddress, (visit) => welcome(visit, remoteAddress));
      return;
    }
    // A balancer's own address has no share: its clients' have.
    this.awaitVisit(socket, undefined, (visit) => {
      readProxyHeader(socket, (header) => {
        const source = header?.source;
        if (header === undefined) socket.destroy();
        else if (source === undefined) welcome(visit, remoteAddress);
        else {
          visit.leave();
          this.awaitVisit(socket, source, (visit) => welcome(visit, source));
        }
      });
    });
  }

  /** Calls `enter` with the visit of a connection from an address, when the door has room for it. */
  private awaitVisit(socket: Socket, remoteAddress: SocketName | undefined, enter: (visit: Visit) => void): void {
    let held: HeldReads | undefined = undefined;
    let bytes = 0;
    let waits = true;
    const uncount = (): void => {
      waits = false;
      this.heldBytes -= bytes;
      bytes = 0;
    };
    const leave = this.door.arrive({
      address: remoteAddress?.host,
      close: () => socket.destroy(),
      enter: (visit) => {
        uncount();
        socket.once("close", () => visit.leave());
        if (socket.destroyed) return;
        held?.release();
        enter(visit);
      },
      refuse: () => {
        uncount();
        held?.release();
        this.refuse(socket, remoteAddress);
      },
    });
    if (!waits) return;
    held = holdReads(socket, (length) => {
      bytes += length;
      this.heldBytes += length;
      if (this.heldBytes > MAX_WAITING_BYTES) socket.destroy();
    });
    socket.once("close", () => {
      leave();
      uncount();
    });
  }

  /** Ends a connection that gets no visit. */
  private refuse(socket: Socket, remoteAddress: SocketName | undefined): void {
    const reason =
      "there are as many connections as may be, of all or of this address (transport.maxSessions, maxHandshakes)";
    tellRefusal(() => ({ stage: "connection", listener: this.url, remoteAddress, reason }));
    const { maxHandshakes, maxCloseMs } = this.door.limits;
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
  private refuseHandshake(guest: Guest, reason: string, error?: Error): void {
    if (!this.shaking.delete(guest)) return;
    const { remoteAddress } = guest;
    tellRefusal(() => ({ stage: "handshake", listener: this.url, remoteAddress, reason, error }));
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
export function placeOf({ host, port, descriptor, handed }: ListenTarget): ListeningPlace {
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
      // An error of one accept (no descriptor left) concerns no session that there is.
      server.on("error", () => {});
      resolve();
    });
  });
}

/** Returns a started server as a `Listener`, and accepts its connections. */
export function socketListener(
  server: Server,
  guests: Guests,
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
  guests.open(url);
  const refuse = handed?.takenBy((socket) => void server.emit("connection", socket));
  return {
    url,
    address: bound,
    stop: () => void stop(),
    close: async () => {
      const done = stop();
      for (const socket of guests.sockets) socket.destroy();
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
