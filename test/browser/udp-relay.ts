import { createSocket, type Socket } from "node:dgram";

/** Passes UDP packets on to a port of this machine and back, until it is cut. */
export class UdpRelay {
  /** While it is, every packet is lost. */
  cut = false;
  private readonly near: Socket = createSocket("udp4");
  /** By the port of the client. */
  private readonly far: Map<number, Socket> = new Map();

  private constructor() {}

  static async start(target: number): Promise<UdpRelay> {
    const relay = new UdpRelay();
    relay.near.on("message", (packet, { port }) => {
      if (!relay.cut) relay.farOf(port).send(packet, target, "127.0.0.1");
    });
    await new Promise<void>((bound) => relay.near.bind(0, "127.0.0.1", bound));
    return relay;
  }

  get port(): number {
    return this.near.address().port;
  }

  close(): void {
    this.near.close();
    for (const socket of this.far.values()) socket.close();
  }

  private farOf(port: number): Socket {
    const known = this.far.get(port);
    if (known !== undefined) return known;
    const socket = createSocket("udp4");
    socket.on("message", (packet) => {
      if (!this.cut) this.near.send(packet, port, "127.0.0.1");
    });
    this.far.set(port, socket);
    return socket;
  }
}
