import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { checkOptions } from "@quicrpc/core/internal";
import { completeConditions, type Conditions } from "./conditions.js";
import { DelayLine } from "./delay-line.js";
import { LinkDirection } from "./direction.js";
import { damaged, type Link, LINK_OPTIONS, type LinkOptions, listenOf, MAX_CLIENTS, linkTargetOf } from "./link.js";
import { randomNumbers } from "./random.js";

/** Number of payload bytes in a TCP packet on most networks. */
const SEGMENT = 1448;

/** Forwards TCP connections to a server's port through a simulated network. */
export async function openTcpLink(options: LinkOptions): Promise<Link> {
  checkOptions("openTcpLink()", options, LINK_OPTIONS);
  const link = new TcpLink(options);
  await link.open();
  return link;
}

class TcpLink implements Link {
  private state: Conditions;
  private readonly listen: { readonly host: string; readonly port: number };
  private readonly server: Server;
  private readonly directions: Set<TcpDirection> = new Set();

  constructor(options: LinkOptions) {
    this.state = completeConditions(options.conditions ?? {});
    this.listen = listenOf(options);
    const { host, port } = linkTargetOf(options);
    const random = randomNumbers(options.seed ?? 1);
    const stateOf = (): Conditions => this.state;
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (clientSocket) => {
      const serverSocket = connect({ host, port, allowHalfOpen: true, noDelay: true });
      for (const direction of [
        new TcpDirection(clientSocket, serverSocket, random, stateOf, ({ upBytesPerSecond }) => upBytesPerSecond),
        new TcpDirection(serverSocket, clientSocket, random, stateOf, ({ downBytesPerSecond }) => downBytesPerSecond),
      ]) {
        this.directions.add(direction);
        direction.from.on("close", () => this.directions.delete(direction));
      }
    });
    this.server.maxConnections = MAX_CLIENTS;
  }

  async open(): Promise<void> {
    await once(this.server.listen(this.listen.port, this.listen.host), "listening");
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get conditions(): Conditions {
    return this.state;
  }

  /** Sets the network conditions. Bytes lost in a blackout arrive later, because TCP retransmits them. */
  set conditions(conditions: Partial<Conditions>) {
    this.state = completeConditions(conditions);
    for (const direction of this.directions) direction.adjust();
  }

  move(): void {
    for (const { from } of this.directions) from.resetAndDestroy();
  }

  close(): void {
    this.server.close();
    this.move();
  }
}

class TcpDirection {
  readonly from: Socket;
  private readonly to: Socket;
  private readonly direction: LinkDirection;
  private readonly stateOf: () => Conditions;
  private readonly rateOf: (conditions: Conditions) => number;
  private readonly line: DelayLine = new DelayLine();
  private isFull = false;

  constructor(
    from: Socket,
    to: Socket,
    random: () => number,
    stateOf: () => Conditions,
    rateOf: (conditions: Conditions) => number,
  ) {
    this.from = from;
    this.to = to;
    this.direction = new LinkDirection(random);
    this.stateOf = stateOf;
    this.rateOf = rateOf;
    from.on("data", (chunk) => this.pass(chunk));
    from.on("end", () => this.delay(Buffer.alloc(0), () => to.end()));
    from.on("error", () => {});
    from.on("close", (failed) => {
      if (failed || !to.writable) this.line.clear();
      if (failed) to.resetAndDestroy();
    });
    to.on("drain", () => this.adjust());
    this.adjust();
  }

  /** Pauses or resumes reading, depending on the number of bytes that wait. */
  adjust(): void {
    const { queueBytes, blackout } = this.stateOf();
    this.isFull = this.line.bytes >= queueBytes || this.to.writableNeedDrain;
    if (blackout || this.isFull) this.from.pause();
    else this.from.resume();
  }

  private pass(chunk: Buffer): void {
    this.delay(chunk, (bytes) => {
      if (this.to.writable) this.to.write(bytes);
      if (this.isFull) this.adjust();
    });
    if (this.line.bytes > 0 || this.to.writableNeedDrain) this.adjust();
  }

  private delay(chunk: Buffer, arrive: (bytes: Buffer) => void): void {
    const conditions = this.stateOf();
    const packets = Math.ceil(chunk.length / SEGMENT);
    const rate = this.rateOf(conditions);
    const { at, damage } = this.direction.passStream(chunk.length, packets, performance.now(), conditions, rate);
    const bytes = damaged(chunk, damage);
    this.line.add(at, bytes.length, () => arrive(bytes));
  }
}
