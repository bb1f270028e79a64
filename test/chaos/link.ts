// A bad network between a client and a server on this machine: what leaves a `Link`'s port arrives at the target's, or not.
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const HOST = "127.0.0.1";
/** Packets that wait to arrive later; more are dropped. */
const MAX_DELAYED = 10_000;

/** Shares of packets, 0 to 1. A stream has its bytes in order, so that of these only `corrupt` means something to it. */
export interface Weather {
  readonly lose: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly corrupt: number;
  /** Nothing passes, and nothing says so. */
  readonly blackout: boolean;
}

export const FAIR: Weather = { lose: 0, duplicate: 0, reorder: 0, corrupt: 0, blackout: false };

export const BLACKOUT: Weather = { ...FAIR, blackout: true };

/** The way to one port of a server. */
export interface Link {
  readonly port: number;
  weather: Weather;
  /** What goes on arrives from another address (UDP), or is cut with a reset (TCP). */
  move(): void;
  close(): void;
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Passes packets on to a UDP port and back. */
export class UdpLink implements Link {
  weather: Weather = FAIR;
  private readonly near: UdpSocket = createSocket("udp4");
  /** By the port of the client. */
  private readonly far: Map<number, UdpSocket> = new Map();
  private readonly random: () => number;
  private delayed = 0;
  private closed = false;

  private constructor(seed: number) {
    this.random = randomNumbers(seed);
  }

  static async open(target: number, seed: number = 1): Promise<UdpLink> {
    const link = new UdpLink(seed);
    link.near.on("message", (packet, { port }) => {
      link.pass(packet, (bytes) => link.farOf(port).send(bytes, target, HOST));
    });
    await new Promise<void>((bound) => link.near.bind(0, HOST, bound));
    return link;
  }

  get port(): number {
    return this.near.address().port;
  }

  move(): void {
    for (const socket of this.far.values()) socket.close();
    this.far.clear();
  }

  close(): void {
    this.closed = true;
    this.near.close();
    this.move();
  }

  private farOf(port: number): UdpSocket {
    const known = this.far.get(port);
    if (known !== undefined) return known;
    const socket = createSocket("udp4");
    // A server that is gone: ICMP says so to this socket, and the client hears nothing, as behind a router.
    socket.on("error", () => {});
    socket.on("message", (packet) => this.pass(packet, (bytes) => this.near.send(bytes, port, HOST)));
    this.far.set(port, socket);
    return socket;
  }

  private pass(packet: Buffer, send: (packet: Buffer) => void): void {
    const { lose, duplicate, reorder, corrupt, blackout } = this.weather;
    if (blackout || this.random() < lose) return;
    const bytes = this.random() < corrupt ? damage(packet, this.random()) : packet;
    if (this.random() < reorder) this.later(bytes, send);
    else this.now(bytes, send);
    if (this.random() < duplicate) this.later(bytes, send);
  }

  private now(packet: Buffer, send: (packet: Buffer) => void): void {
    if (!this.closed) send(packet);
  }

  private later(packet: Buffer, send: (packet: Buffer) => void): void {
    if (this.delayed >= MAX_DELAYED) return;
    this.delayed++;
    setTimeout(() => {
      this.delayed--;
      this.now(packet, send);
    }, this.random() * 10);
  }
}

/** Passes the bytes of TCP connections on to a port and back. */
export class TcpLink implements Link {
  private sky: Weather = FAIR;
  private readonly server: Server;
  private readonly sockets: Set<Socket> = new Set();
  private readonly random: () => number;

  private constructor(target: number, seed: number) {
    this.random = randomNumbers(seed);
    this.server = createServer((near) => {
      const far = connect(target, HOST);
      this.join(near, far);
      this.join(far, near);
    });
  }

  static async open(target: number, seed: number = 1): Promise<TcpLink> {
    const link = new TcpLink(target, seed);
    await once(link.server.listen(0, HOST), "listening");
    return link;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get weather(): Weather {
    return this.sky;
  }

  /** TCP sends again what a blackout has swallowed: it only comes later. */
  set weather(weather: Weather) {
    this.sky = weather;
    for (const socket of this.sockets) {
      if (weather.blackout) socket.pause();
      else socket.resume();
    }
  }

  move(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.server.close();
    this.move();
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    if (this.sky.blackout) from.pause();
    from.on("data", (chunk) => {
      const bytes = this.random() < this.sky.corrupt ? damage(chunk, this.random()) : chunk;
      if (!to.write(bytes)) {
        from.pause();
        to.once("drain", () => {
          if (!this.sky.blackout) from.resume();
        });
      }
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.sockets.delete(from);
      to.destroy();
    });
  }
}

/** The same with one bit turned over. */
function damage(bytes: Buffer, where: number): Buffer {
  const damaged = Buffer.from(bytes);
  const at = Math.floor(where * bytes.length);
  damaged[at] = (damaged[at] as number) ^ 0x10;
  return damaged;
}
