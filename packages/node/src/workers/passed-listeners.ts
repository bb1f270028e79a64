import type { Worker } from "node:cluster";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { PassedSocket } from "../listen/systemd.js";
import type { PassedStream, ToWorker } from "./messages.js";

/** Maximum number of connections in transit to one worker, which may be blocked. */
const MOST_ON_THE_WAY = 128;
/** Maximum number of connections that wait for a worker: Node's default backlog of a listening socket. */
const MOST_WAITING = 511;

/** A connection, and the descriptor of the socket that accepted it. */
interface Accepted {
  readonly socket: Socket;
  readonly descriptor: number;
}

/** A worker, and the number of connections in transit to it. */
interface Taker {
  readonly worker: Worker;
  onTheWay: number;
}

/**
 * Listening sockets that systemd passed to a primary. The primary accepts their connections and passes them to its
 * workers in turn. node:cluster would close the sockets together with the last worker that listens, and they could not
 * be reopened.
 */
export class PassedListeners {
  readonly sockets: readonly PassedSocket[];
  /** Addresses of the sockets, once they listen. */
  streams: readonly PassedStream[] = [];
  private servers: readonly Server[] = [];
  /** Workers that receive connections in turn; the first is next. */
  private readonly takers: Taker[] = [];
  private readonly waiting: Accepted[] = [];

  constructor(sockets: readonly PassedSocket[]) {
    this.sockets = sockets;
  }

  /** Accepts connections on these sockets. Rejects with the system's error. */
  async listen(descriptors: readonly number[]): Promise<void> {
    this.streams = await Promise.all(
      descriptors.map(async (descriptor) => {
        const server = createServer({ pauseOnConnect: true }, (socket) => this.accepted({ socket, descriptor }));
        this.servers = [...this.servers, server];
        server.listen({ fd: descriptor });
        await once(server, "listening");
        // An error of one accept (no descriptor left) concerns no connection that there is.
        server.on("error", () => {});
        return { descriptor, address: server.address() };
      }),
    );
  }

  /** Passes connections to these workers only. */
  handTo(workers: readonly Worker[]): void {
    const before = this.takers.splice(0);
    const known = before.filter(({ worker }) => workers.includes(worker));
    const others = workers.filter((worker) => !known.some((taker) => taker.worker === worker));
    this.takers.push(...known, ...others.map((worker) => ({ worker, onTheWay: 0 })));
    for (const accepted of this.waiting.splice(0)) this.accepted(accepted);
  }

  /** Sets whether the sockets keep this process alive. */
  refer(referenced: boolean): void {
    for (const server of this.servers) {
      if (referenced) server.ref();
      else server.unref();
    }
  }

  /** Stops accepting. Waiting connections stay in the sockets for other processes that share them. */
  close(): void {
    for (const server of this.servers) server.close();
    this.servers = [];
    for (const { socket } of this.waiting.splice(0)) socket.destroy();
  }

  private accepted(accepted: Accepted): void {
    const taker = this.takers.find(({ worker, onTheWay }) => worker.isConnected() && onTheWay < MOST_ON_THE_WAY);
    if (taker !== undefined) this.hand(accepted, taker);
    else if (this.takers.length === 0 && this.waiting.length < MOST_WAITING) this.wait(accepted);
    else accepted.socket.destroy();
  }

  private wait(accepted: Accepted): void {
    // One that its client resets meanwhile.
    accepted.socket.on("error", () => {});
    this.waiting.push(accepted);
  }

  private hand({ socket, descriptor }: Accepted, taker: Taker): void {
    this.takers.splice(this.takers.indexOf(taker), 1);
    this.takers.push(taker);
    taker.onTheWay++;
    const message: ToWorker = { quicrpc: "connection", descriptor };
    taker.worker.send(message, socket, undefined, (error: Error | null) => {
      taker.onTheWay--;
      if (error !== null) socket.destroy();
    });
  }
}
