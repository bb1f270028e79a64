import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { checkOptions } from "@quicrpc/core/internal";
import { completeConditions, type Conditions } from "./conditions.js";
import { DelayLine } from "./delay-line.js";
import { LinkDirection } from "./direction.js";
import {
  damaged,
  type Link,
  LINK_OPTIONS,
  type LinkOptions,
  listenOf,
  MAX_CLIENTS,
  MAX_DELAYED,
  socketType,
  linkTargetOf,
} from "./link.js";
import { randomNumbers } from "./random.js";

/** Forwards UDP packets to a server's port through a simulated network. */
export async function openUdpLink(options: LinkOptions): Promise<Link> {
  checkOptions("openUdpLink()", options, LINK_OPTIONS);
  const link = new UdpLink(options);
  await link.open();
  return link;
}

class UdpLink implements Link {
  private state: Conditions;
  private readonly listen: { readonly host: string; readonly port: number };
  private readonly target: { readonly host: string; readonly port: number };
  private readonly clientSocket: Socket;
  /** Sockets that send to the server, by the client's address. */
  private readonly serverSockets: Map<string, Socket> = new Map();
  private readonly up: LinkDirection;
  private readonly down: LinkDirection;
  private readonly line: DelayLine = new DelayLine();
  private closed = false;

  constructor(options: LinkOptions) {
    this.state = completeConditions(options.conditions ?? {});
    this.listen = listenOf(options);
    this.target = linkTargetOf(options);
    const { seed = 1 } = options;
    this.up = new LinkDirection(randomNumbers(seed));
    this.down = new LinkDirection(randomNumbers(seed + 0x5bd1e995));
    this.clientSocket = createSocket(socketType(this.listen.host));
  }

  async open(): Promise<void> {
    this.clientSocket.on("message", (packet, client) => {
      // Nothing can be sent to port 0: `send` would throw when the response is sent.
      if (client.port === 0) return;
      const { host, port } = this.target;
      this.pass(this.up, this.state.upBytesPerSecond, packet, (bytes) =>
        this.serverSocketFor(client).send(bytes, port, host),
      );
    });
    this.clientSocket.bind(this.listen.port, this.listen.host);
    await once(this.clientSocket, "listening");
    // From now on: a client that is gone, which ICMP says.
    this.clientSocket.on("error", () => {});
  }

  get port(): number {
    return this.clientSocket.address().port;
  }

  get conditions(): Conditions {
    return this.state;
  }

  set conditions(conditions: Partial<Conditions>) {
    this.state = completeConditions(conditions);
  }

  move(): void {
    for (const socket of this.serverSockets.values()) socket.close();
    this.serverSockets.clear();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.line.clear();
    this.clientSocket.close();
    this.move();
  }

  private serverSocketFor(client: RemoteInfo): Socket {
    const key = `${client.address} ${client.port}`;
    const known = this.serverSockets.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.serverSockets;
    if (oldest !== undefined && this.serverSockets.size >= MAX_CLIENTS) {
      oldest[1].close();
      this.serverSockets.delete(oldest[0]);
    }
    const socket = createSocket(socketType(this.target.host));
    // The server does not run: the system reports this to this socket (ICMP), but the client receives nothing, as
    // behind a router.
    socket.on("error", () => {});
    socket.on("message", (packet) => {
      const { downBytesPerSecond } = this.state;
      this.pass(this.down, downBytesPerSecond, packet, (bytes) =>
        this.clientSocket.send(bytes, client.port, client.address),
      );
    });
    this.serverSockets.set(key, socket);
    return socket;
  }

  private pass(direction: LinkDirection, bytesPerSecond: number, packet: Buffer, send: (packet: Buffer) => void): void {
    const { arrivalTimes, damage } = direction.pass(packet.length, performance.now(), this.state, bytesPerSecond);
    if (arrivalTimes.length === 0) return;
    const bytes = damaged(packet, damage);
    for (const at of arrivalTimes) {
      if (this.line.length < MAX_DELAYED) this.line.add(at, bytes.length, () => this.closed || send(bytes));
    }
  }
}
