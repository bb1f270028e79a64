import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isPortProbe } from "../../quic/test/harness.js";

/**
 * A relay that leads each flow, the packets of one source port, to the server that was in use when the flow began, as NATs and balancers do. It drops
 * the packets of flows to servers that are gone.
 */
export class PinningRelay {
  /** Port of the server that new flows are led to; undefined: all packets are lost. */
  server: number | undefined;
  /** Source ports whose packets began no flow, because there was no server. */
  readonly refused: Set<number> = new Set();
  private readonly gone: Set<number> = new Set();
  private readonly flows: Map<number, { readonly server: number; readonly socket: Socket }> = new Map();
  private readonly front: Socket = createSocket("udp4");

  constructor(server: number) {
    this.server = server;
  }

  async start(): Promise<number> {
    await once(this.front.bind(0, "127.0.0.1"), "listening");
    this.front.on("message", (packet, { port }) => this.forward(packet, port));
    return this.front.address().port;
  }

  close(): void {
    this.front.close();
    for (const { socket } of this.flows.values()) socket.close();
  }

  /** Loses the packets of the flows there are, and leads new ones to another server. */
  move(server: number | undefined): void {
    for (const flow of this.flows.values()) this.gone.add(flow.server);
    this.server = server;
    if (server !== undefined) this.gone.delete(server);
  }

  private forward(packet: Buffer, port: number): void {
    if (isPortProbe(packet)) return;
    let flow = this.flows.get(port);
    if (flow === undefined) {
      if (this.server === undefined) {
        this.refused.add(port);
        return;
      }
      const socket = createSocket("udp4").bind(0, "127.0.0.1");
      const { server } = this;
      socket.on("message", (answer) => {
        if (!this.gone.has(server)) this.front.send(answer, port, "127.0.0.1");
      });
      flow = { server, socket };
      this.flows.set(port, flow);
    }
    if (!this.gone.has(flow.server)) flow.socket.send(packet, flow.server, "127.0.0.1");
  }
}
