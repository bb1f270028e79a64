import type { Worker } from "node:cluster";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { PassedSocket } from "../listen/systemd.js";
import type { PassedStream, ToWorker } from "./messages.js";

/** Maximum number of connections sent to one worker that the worker has not received yet. The worker may be blocked. */
const MOST_IN_TRANSIT = 128;
/**
 * Maximum number of accepted connections that wait for a worker. Equal to Node's default backlog of a listening socket.
 */
const MOST_WAITING = 511;

/** A connection, with the file descriptor of the listening socket that accepted it. */
interface Accepted {
  readonly socket: Socket;
  readonly descriptor: number;
}

/** A worker, with the number of connections sent to it that it has not received yet. */
interface ReceivingWorker {
  readonly worker: Worker;
  inTransit: number;
}

/**
 * Listening sockets that systemd passed to a primary process. The primary accepts their connections and passes them to
 * its workers in turn. node:cluster cannot be used, because it would close the sockets together with the last worker
 * that listens, and they cannot be opened again.
 */
export class PassedListeners {
  readonly sockets: readonly PassedSocket[];
  /** The sockets with their addresses. Empty until they listen. */
  streams: readonly PassedStream[] = [];
  private servers: readonly Server[] = [];
  /** Workers that receive connections in turn. The first one receives the next connection. */
  private readonly receivers: ReceivingWorker[] = [];
  private readonly waiting: Accepted[] = [];

  constructor(sockets: readonly PassedSocket[]) {
    this.sockets = sockets;
  }

  /** Starts accepting connections on sockets with these file descriptors. Rejects with the system's error. */
  async listen(descriptors: readonly number[]): Promise<void> {
    this.streams = await Promise.all(
      descriptors.map(async (descriptor) => {
        const server = createServer({ pauseOnConnect: true }, (socket) => this.accepted({ socket, descriptor }));
        this.servers = [...this.servers, server];
        server.listen({ fd: descriptor });
        await once(server, "listening");
        // If accepting a connection fails, for example because there are too many descriptors, existing connections are
        // not affected.
        server.on("error", () => {});
        return { descriptor, address: server.address() };
      }),
    );
  }

  passTo(workers: readonly Worker[]): void {
    const before = this.receivers.splice(0);
    const known = before.filter(({ worker }) => workers.includes(worker));
    const unknownWorkers = workers.filter((worker) => !known.some((receiver) => receiver.worker === worker));
    this.receivers.push(...known, ...unknownWorkers.map((worker) => ({ worker, inTransit: 0 })));
    for (const accepted of this.waiting.splice(0)) this.accepted(accepted);
  }

  refer(referenced: boolean): void {
    for (const server of this.servers) {
      if (referenced) server.ref();
      else server.unref();
    }
  }

  /**
   * Stops accepting connections. Connections that were not accepted stay in the sockets, for other processes that share
   * them.
   */
  close(): void {
    for (const server of this.servers) server.close();
    this.servers = [];
    for (const { socket } of this.waiting.splice(0)) socket.destroy();
  }

  private accepted(accepted: Accepted): void {
    const receiver = this.receivers.find(
      ({ worker, inTransit }) => worker.isConnected() && inTransit < MOST_IN_TRANSIT,
    );
    if (receiver !== undefined) this.pass(accepted, receiver);
    else if (this.receivers.length === 0 && this.waiting.length < MOST_WAITING) this.enqueue(accepted);
    else accepted.socket.destroy();
  }

  private enqueue(accepted: Accepted): void {
    // The client may reset it in the meantime.
    accepted.socket.on("error", () => {});
    this.waiting.push(accepted);
  }

  private pass({ socket, descriptor }: Accepted, receiver: ReceivingWorker): void {
    this.receivers.splice(this.receivers.indexOf(receiver), 1);
    this.receivers.push(receiver);
    receiver.inTransit++;
    const message: ToWorker = { quicrpc: "connection", descriptor };
    receiver.worker.send(message, socket, undefined, (error: Error | null) => {
      receiver.inTransit--;
      if (error !== null) socket.destroy();
    });
  }
}
