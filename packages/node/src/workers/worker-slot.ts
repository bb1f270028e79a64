import type { Worker } from "node:cluster";
import { type Backoff, backoffDelay } from "@quicrpc/core/internal";
import type { ServerStats } from "../server.js";
import type { FromWorker, ToWorker, WorkerShare } from "./messages.js";
import { endAfter, workerErrorOf, GRACE_MS, send, watchProcess } from "./worker-process.js";

const BACKOFF: Backoff = { initialMs: 100, maxMs: 5000, factor: 2 };
/** Minimum lifetime of a worker in milliseconds that resets the growing delay before a restart. */
const STABLE_MS = 10_000;
/** Milliseconds after which a warning is printed if a worker's program has not called `serve`. */
const SILENT_MS = 10_000;

export const NO_STATS: ServerStats = {
  sessions: 0,
  authentications: 0,
  handlers: 0,
  outlivingHandlers: 0,
  heldBytes: 0,
};

export interface SlotGroup {
  shareOf(place: number): WorkerShare;
  readonly maxTimeoutMs: number;
  /** True if the group is ending. Workers that exit are then not replaced. */
  readonly isEnding: boolean;
  fork(place: number): Worker;
  onServing(urls: readonly string[]): void;
  /** Called when the worker of a slot stops serving, and when it has exited. */
  onLeaving(): void;
  report(error: unknown): void;
}

/** One slot of a group of workers, with its current worker process. */
export class WorkerSlot {
  readonly place: number;
  /**
   * True if the slot is the one that stays empty. A group has one more slot than workers, so that a replacement can
   * serve before the old worker is drained.
   */
  isSpare: boolean;
  stats: ServerStats = NO_STATS;
  worker: Worker | undefined = undefined;
  private readonly group: SlotGroup;
  /** State of the worker. "leaving": its server is ending although the primary has not asked for it. */
  private status: "starting" | "serving" | "leaving" | "ending" | "empty" = "empty";
  private hasServed = false;
  /** Counter that is incremented to cancel a start of a worker that is in progress. */
  private fillGeneration = 0;
  /** Shortens the time that the worker has to exit, while it is being ended. */
  private shortenGrace: (() => void) | undefined = undefined;
  private lastMessageAt = 0;
  /** Number of consecutive restarts since a worker last ran for `STABLE_MS`. */
  private earlyExits = 0;
  private respawn: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(place: number, isSpare: boolean, group: SlotGroup) {
    this.place = place;
    this.isSpare = isSpare;
    this.group = group;
  }

  get serves(): boolean {
    return this.status === "serving";
  }

  /** Starts a worker in the empty slot. Resolves when the worker serves. Rejects if it cannot serve. */
  fill(): Promise<void> {
    const { group, place } = this;
    const worker = group.fork(place);
    const began = performance.now();
    this.worker = worker;
    this.status = "starting";
    this.hasServed = false;
    return new Promise((resolve, reject) => {
      const silent = setTimeout(() => group.report(notServing(place)), SILENT_MS);
      const onEnded = (error: Error): void => {
        clearTimeout(silent);
        reject(error);
        if (this.worker === worker) this.onExit(error, performance.now() - began);
      };
      watchProcess(worker, place, onEnded, (error) => group.report(error));
      worker.on("message", (message: FromWorker | null) => {
        this.lastMessageAt = performance.now();
        if (message?.quicrpc === "join") {
          clearTimeout(silent);
          send(worker, { quicrpc: "joined", share: group.shareOf(place) });
        } else if (message?.quicrpc === "failed") {
          reject(workerErrorOf(message.error));
          worker.process.kill("SIGKILL");
        } else if (message?.quicrpc === "ready" && this.status === "starting") {
          this.hasServed = true;
          this.status = "serving";
          group.onServing(message.urls);
          resolve();
        } else if (message !== null) {
          this.onMessage(message, worker);
        }
      });
    });
  }

  /**
   * Ends the worker's server, and then the worker. Resolves with the number of notifications that clients did not
   * acknowledge.
   */
  end(message: ToWorker): Promise<number> {
    clearTimeout(this.respawn);
    this.fillGeneration++;
    this.status = "ending";
    const { worker } = this;
    if (worker === undefined) return Promise.resolve(0);
    return new Promise((resolve) => {
      let unacknowledged = 0;
      const timeMs = message.quicrpc === "drain" ? message.timeoutMs : 0;
      let stop = endAfter(worker, this.hasServed ? Math.min(timeMs + GRACE_MS, this.group.maxTimeoutMs) : 0);
      const shorten = (): void => {
        stop();
        stop = endAfter(worker, GRACE_MS);
      };
      this.shortenGrace = shorten;
      worker.on("message", (reply: FromWorker | null) => {
        if (reply?.quicrpc !== "over") return;
        ({ unacknowledged } = reply);
        shorten();
      });
      worker.once("exit", () => {
        stop();
        this.shortenGrace = undefined;
        resolve(unacknowledged);
      });
      send(worker, message);
    });
  }

  /** Ends a worker faster that is already being ended. */
  endSoon(message: ToWorker): void {
    send(this.worker, message);
    this.shortenGrace?.();
  }

  async kill(): Promise<void> {
    const { worker } = this;
    clearTimeout(this.respawn);
    if (worker === undefined) return;
    this.status = "ending";
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.process.kill("SIGKILL");
    await exited;
  }

  /** Kills the worker if it has served but not responded for `maxSilenceMs`. It is replaced. */
  endUnresponsive(maxSilenceMs: number, since: number = this.lastMessageAt): void {
    const now = performance.now();
    this.lastMessageAt = since;
    if (!this.serves || now - since < maxSilenceMs) return;
    this.lastMessageAt = now;
    this.group.report(unresponsive(this.place, maxSilenceMs));
    this.worker?.process.kill("SIGKILL");
  }

  private onMessage(message: FromWorker, worker: Worker): void {
    if (message.quicrpc === "stats") this.stats = message.stats;
    if (message.quicrpc === "leaving" && this.status === "serving") {
      this.status = "leaving";
      this.group.onLeaving();
    }
    // Its server is over, and the rest of its program may not be.
    if (message.quicrpc === "over" && this.status === "leaving") endAfter(worker, GRACE_MS);
  }

  private onExit(error: Error, livedMs: number): void {
    const wasServing = this.status === "serving" || this.status === "leaving";
    this.worker = undefined;
    this.stats = NO_STATS;
    this.status = "empty";
    if (this.group.isEnding) return;
    this.group.onLeaving();
    if (!wasServing) return;
    this.group.report(error);
    if (livedMs > STABLE_MS) this.earlyExits = 0;
    this.refill();
  }

  /** Starts a new worker in the slot after a delay. Does nothing if another caller starts one first. */
  private refill(): void {
    const { fillGeneration } = this;
    const refillNow = async (): Promise<void> => {
      try {
        await this.fill();
      } catch (error) {
        if (this.group.isEnding || this.fillGeneration !== fillGeneration) return;
        this.group.report(error);
        this.refill();
      }
    };
    this.respawn = setTimeout(() => void refillNow(), backoffDelay(this.earlyExits++, BACKOFF));
  }
}

function unresponsive(place: number, ms: number): Error {
  return new Error(
    `worker ${place} has not responded for ${ms / 1000} s and is killed: its event loop is blocked (workerHangTimeoutMs)`,
  );
}

function notServing(place: number): Error {
  return new Error(
    `worker ${place} has not called serve() within ${SILENT_MS / 1000} s: the program must call it in each worker too`,
  );
}
