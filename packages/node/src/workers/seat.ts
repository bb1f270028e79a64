import type { Worker } from "node:cluster";
import { type Backoff, backoffDelay } from "@quicrpc/core/transport";
import type { ServerStats } from "../server.js";
import type { FromWorker, ToWorker, WorkerShare } from "./messages.js";
import { endAfter, errorOf, GRACE_MS, send, watchProcess } from "./worker-process.js";

const BACKOFF: Backoff = { initialMs: 100, maxMs: 5000, factor: 2 };
/** A worker that has lived for so long starts its waits anew. */
const STABLE_MS = 10_000;
/** A program that has not called `serve` by then may not do so at all. */
const SILENT_MS = 10_000;

/** The statistics of a place that nobody serves in. */
export const NOTHING: ServerStats = {
  sessions: 0,
  authentications: 0,
  handlers: 0,
  outlivingHandlers: 0,
  heldBytes: 0,
};

/** The group that a seat belongs to. */
export interface SeatGroup {
  shareOf(place: number): WorkerShare;
  readonly maxTimeoutMs: number;
  /** Whether the group ends: nobody is replaced any more. */
  readonly isEnding: boolean;
  fork(place: number): Worker;
  onServing(urls: readonly string[]): void;
  /** Called when a place that served serves no longer, and when it has lost its worker. */
  onLeaving(): void;
  report(error: unknown): void;
}

/** One place of a group, and the worker that has it at the moment. */
export class Seat {
  readonly place: number;
  /** It is left empty: there is one more place than workers, for the next worker to serve before another is drained. */
  spare: boolean;
  stats: ServerStats = NOTHING;
  worker: Worker | undefined = undefined;
  private readonly group: SeatGroup;
  /** "leaving": its server ends, and it was not this process that ended it. */
  private status: "starting" | "serving" | "leaving" | "ending" | "empty" = "empty";
  /** Whether the worker's server has ever served. */
  private served = false;
  /** Changes whenever the place is taken out of the hands of whoever fills it. */
  private owner = 0;
  /** Shortens the time that the worker has to end. */
  private hurry: (() => void) | undefined = undefined;
  /** Time of the worker's last message. */
  private heard = 0;
  /** Workers in a row that did not live long. */
  private losses = 0;
  private respawn: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(place: number, spare: boolean, group: SeatGroup) {
    this.place = place;
    this.spare = spare;
    this.group = group;
  }

  get serves(): boolean {
    return this.status === "serving";
  }

  /** Puts a worker into the place, which is empty. Resolves when it serves; rejects where it cannot. */
  fill(): Promise<void> {
    const { group, place } = this;
    const worker = group.fork(place);
    const began = performance.now();
    this.worker = worker;
    this.status = "starting";
    this.served = false;
    return new Promise((resolve, reject) => {
      const silent = setTimeout(() => group.report(silence(place)), SILENT_MS);
      const ended = (error: Error): void => {
        clearTimeout(silent);
        reject(error);
        if (this.worker === worker) this.lose(error, performance.now() - began);
      };
      watchProcess(worker, place, ended, (error) => group.report(error));
      worker.on("message", (message: FromWorker | null) => {
        this.heard = performance.now();
        if (message?.quicrpc === "join") {
          clearTimeout(silent);
          send(worker, { quicrpc: "joined", share: group.shareOf(place) });
        } else if (message?.quicrpc === "failed") {
          reject(errorOf(message.error));
          worker.process.kill("SIGKILL");
        } else if (message?.quicrpc === "ready" && this.status === "starting") {
          this.served = true;
          this.status = "serving";
          group.onServing(message.urls);
          resolve();
        } else if (message !== null) {
          this.hear(message, worker);
        }
      });
    });
  }

  /** Ends the worker, with its server first. Resolves to the notifications that were not acknowledged. */
  vacate(message: ToWorker): Promise<number> {
    clearTimeout(this.respawn);
    this.owner++;
    this.status = "ending";
    const { worker } = this;
    if (worker === undefined) return Promise.resolve(0);
    return new Promise((resolve) => {
      let lost = 0;
      const timeMs = message.quicrpc === "drain" ? message.timeoutMs : 0;
      let stop = endAfter(worker, this.served ? Math.min(timeMs + GRACE_MS, this.group.maxTimeoutMs) : 0);
      const hurry = (): void => {
        stop();
        stop = endAfter(worker, GRACE_MS);
      };
      this.hurry = hurry;
      worker.on("message", (told: FromWorker | null) => {
        if (told?.quicrpc !== "over") return;
        lost = told.unacknowledged;
        hurry();
      });
      worker.once("exit", () => {
        stop();
        this.hurry = undefined;
        resolve(lost);
      });
      send(worker, message);
    });
  }

  /** A worker that is being ended ends soon. */
  cutShort(message: ToWorker): void {
    send(this.worker, message);
    this.hurry?.();
  }

  /** Ends the worker's process at once. */
  async kill(): Promise<void> {
    const { worker } = this;
    clearTimeout(this.respawn);
    if (worker === undefined) return;
    this.status = "ending";
    const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.process.kill("SIGKILL");
    await gone;
  }

  /** Ends a worker that serves and has said nothing for `maxStuckMs`: another takes the place. */
  endStuck(maxStuckMs: number, since: number = this.heard): void {
    const now = performance.now();
    this.heard = since;
    if (!this.serves || now - since < maxStuckMs) return;
    this.heard = now;
    this.group.report(stuck(this.place, maxStuckMs));
    this.worker?.process.kill("SIGKILL");
  }

  private hear(message: FromWorker, worker: Worker): void {
    if (message.quicrpc === "stats") this.stats = message.stats;
    if (message.quicrpc === "leaving" && this.status === "serving") {
      this.status = "leaving";
      this.group.onLeaving();
    }
    // Its server is over, and the rest of its program may not be.
    if (message.quicrpc === "over" && this.status === "leaving") endAfter(worker, GRACE_MS);
  }

  /** The worker's process is gone. */
  private lose(error: Error, livedMs: number): void {
    const lost = this.status === "serving" || this.status === "leaving";
    this.worker = undefined;
    this.stats = NOTHING;
    this.status = "empty";
    if (this.group.isEnding) return;
    this.group.onLeaving();
    if (!lost) return;
    this.group.report(error);
    if (livedMs > STABLE_MS) this.losses = 0;
    this.refill();
  }

  /** Fills the place after a while, unless somebody else takes care of it meanwhile. */
  private refill(): void {
    const { owner } = this;
    const again = async (): Promise<void> => {
      try {
        await this.fill();
      } catch (error) {
        if (this.group.isEnding || this.owner !== owner) return;
        this.group.report(error);
        this.refill();
      }
    };
    this.respawn = setTimeout(() => void again(), backoffDelay(this.losses++, BACKOFF));
  }
}

function stuck(place: number, ms: number): Error {
  return new Error(
    `worker ${place} has not answered for ${ms / 1000} s, and is ended: something holds up its event loop (workerStuckMs)`,
  );
}

function silence(place: number): Error {
  return new Error(
    `worker ${place} has not called serve() for ${SILENT_MS / 1000} s: the program has to, in each worker too`,
  );
}
