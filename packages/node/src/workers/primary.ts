import cluster, { type Worker } from "node:cluster";
import { randomBytes } from "node:crypto";
import {
  type Backoff,
  backoffDelay,
  type CloseOptions,
  type DrainOptions,
  type Unacknowledged,
} from "@quicrpc/core/transport";
import { type ErrorHook, type Limits, type Session, TransportError } from "@quicrpc/core";
import type { PortGroup } from "@quicrpc/quic";
import type { Server, ServerStats, WorkerGroup } from "../server.js";
import { type FromWorker, type Place, PLACE_VARIABLE, type ToldError, type ToWorker } from "./messages.js";
import { topicRelay } from "./topic-relay.js";

const BACKOFF: Backoff = { initialMs: 100, maxMs: 5000, factor: 2 };
/** A worker that has lived for so long starts its waits anew. */
const STABLE_MS = 10_000;
/** A worker whose server is over has so long to end by itself, and then as long again when it is asked to. */
const GRACE_MS = 2000;
/** A program that has not called `serve` by then may not do so at all. */
const SILENT_MS = 10_000;
const TICKET_KEY_BYTES = 32;
/** A worker that is stuck is looked for so many times within the time that it may be. */
const CHECKS = 5;

const NOTHING: ServerStats = { sessions: 0, authentications: 0, handlers: 0, outlivingHandlers: 0, heldBytes: 0 };

/** One place of the group, and the worker that has it at the moment. */
interface Seat {
  readonly place: number;
  /** It is left empty: there is one more place than workers, for the next worker to serve before another is drained. */
  spare: boolean;
  worker: Worker | undefined;
  /** "leaving": its server ends, and it was not this process that ended it. */
  status: "starting" | "serving" | "leaving" | "ending" | "empty";
  /** Whether the worker's server has ever served. */
  served: boolean;
  /** Changes whenever the place is taken out of the hands of whoever fills it. */
  owner: number;
  /** Shortens the time that the worker has to end. */
  hurry: (() => void) | undefined;
  stats: ServerStats;
  /** When the worker last said something. */
  heard: number;
  /** Workers in a row that did not live long. */
  losses: number;
  respawn: ReturnType<typeof setTimeout> | undefined;
}

/** The server of a primary: it serves nothing itself, but keeps a worker in each place of the group. */
export class PrimaryServer implements Server {
  readonly sessions: ReadonlySet<Session> = new Set();
  readonly group: WorkerGroup;
  /** Called when it has been closed. */
  onEnd: (() => void) | undefined = undefined;
  private readonly ports: readonly PortGroup[];
  private readonly seats: readonly Seat[];
  private readonly onError: ErrorHook;
  /** Milliseconds that a worker's drain may take where none are given. */
  private readonly maxDrainMs: number;
  /** The most milliseconds that a timer takes. */
  private readonly maxTimeoutMs: number;
  /** Changes with each start of the group: no ticket outlives it. */
  private readonly ticketKey: string = randomBytes(TICKET_KEY_BYTES).toString("base64");
  private served: readonly string[] = [];
  private referenced = true;
  private ending: Promise<Unacknowledged> | undefined = undefined;
  private restarting: Promise<void> = Promise.resolve();
  private readonly watch: ReturnType<typeof setInterval>;

  constructor(
    ports: readonly PortGroup[],
    size: number,
    onError: ErrorHook,
    maxStuckMs: number,
    { maxDrainMs, maxTimeoutMs }: Limits,
  ) {
    this.ports = ports;
    this.onError = onError;
    this.maxDrainMs = maxDrainMs;
    this.maxTimeoutMs = maxTimeoutMs;
    this.seats = Array.from({ length: size + 1 }, (_, place): Seat => {
      return {
        place,
        spare: place === size,
        worker: undefined,
        status: "empty",
        stats: NOTHING,
        heard: 0,
        losses: 0,
        respawn: undefined,
        served: false,
        owner: 0,
        hurry: undefined,
      };
    });
    this.watch = setInterval(this.endStuck(maxStuckMs), maxStuckMs / CHECKS).unref();
    this.group = {
      size,
      pids: () => this.seats.flatMap(({ worker }) => worker?.process.pid ?? []),
      restart: () => this.restart(),
    };
  }

  get urls(): readonly string[] {
    return this.served;
  }

  /** The places that have a worker, or are to have one. */
  private get filled(): readonly Seat[] {
    return this.seats.filter(({ spare }) => !spare);
  }

  get address(): { readonly host: string; readonly port: number } {
    const url = this.served.find((text) => !text.startsWith("unix:"));
    if (url === undefined) throw new TypeError("the server listens on no port, but on a path");
    const { hostname, port } = new URL(url);
    return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
  }

  /** Starts every worker. Where one cannot serve none is left, and this rejects with its error. */
  async start(): Promise<void> {
    try {
      await Promise.all(this.filled.map((seat) => this.seat(seat)));
    } catch (error) {
      this.ending = Promise.resolve({ unacknowledged: 0 });
      await Promise.all(this.seats.map((seat) => this.kill(seat)));
      for (const port of this.ports) port.close();
      clearInterval(this.watch);
      throw error;
    }
  }

  /** Looks for workers that have said nothing for so long, and ends them: others take their places. */
  private endStuck(maxStuckMs: number): () => void {
    let last = performance.now();
    return () => {
      const now = performance.now();
      // This process was stuck itself, and has not heard what they said.
      const late = now - last > (2 * maxStuckMs) / CHECKS;
      last = now;
      for (const seat of this.seats) {
        if (seat.status !== "serving") continue;
        if (late) seat.heard = now;
        if (now - seat.heard < maxStuckMs) continue;
        seat.heard = now;
        this.onError(stuck(seat.place, maxStuckMs), { method: "serve" });
        seat.worker?.process.kill("SIGKILL");
      }
    };
  }

  stats(): ServerStats {
    const sum: { -readonly [Name in keyof ServerStats]: ServerStats[Name] } = { ...NOTHING };
    for (const { stats } of this.seats) {
      for (const name of Object.keys(NOTHING) as (keyof ServerStats)[]) sum[name] += stats[name];
    }
    return sum;
  }

  drain(options: DrainOptions = {}): Promise<Unacknowledged> {
    const timeoutMs = Math.min(options.timeoutMs ?? this.maxDrainMs, this.maxTimeoutMs);
    this.ending ??= this.end({ quicrpc: "drain", timeoutMs });
    return this.ending;
  }

  close(options: CloseOptions = {}): Promise<Unacknowledged> {
    const { closeCode, reason } = options;
    const message: ToWorker = { quicrpc: "close", closeCode, reason };
    // A drain in progress is cut short.
    if (this.ending !== undefined) {
      for (const { worker, hurry } of this.seats) {
        send(worker, message);
        hurry?.();
      }
    }
    this.ending ??= this.end(message);
    return this.ending;
  }

  /** Each worker's own program renews its certificates. */
  updateTls(): void {}

  ref(): void {
    this.reference(true);
  }

  unref(): void {
    this.reference(false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private reference(referenced: boolean): void {
    this.referenced = referenced;
    for (const { worker } of this.seats) refer(worker, referenced);
  }

  /** One worker after the other: the next serves in the spare place before one is drained, whose place is the spare one then. */
  private restart(): Promise<void> {
    const next = async (before: Promise<void>): Promise<void> => {
      await before.catch(() => {});
      for (const seat of this.filled) {
        if (this.ending !== undefined) return;
        await this.succeed(seat);
      }
    };
    this.restarting = next(this.restarting);
    return this.restarting;
  }

  /** Puts a new worker in the place of one that serves. Where the new one cannot serve this rejects, and the other goes on. */
  private async succeed(seat: Seat): Promise<void> {
    const next = this.seats.find(({ spare }) => spare) as Seat;
    try {
      await this.seat(next);
    } catch (error) {
      await this.kill(next);
      if (this.ending !== undefined) return;
      throw error;
    }
    if (this.ending !== undefined) return;
    next.spare = false;
    seat.spare = true;
    clearTimeout(seat.respawn);
    seat.owner++;
    seat.status = "ending";
    this.steer();
    await this.dismiss(seat, { quicrpc: "drain", timeoutMs: Math.min(this.maxDrainMs, this.maxTimeoutMs) });
  }

  private async end(message: ToWorker): Promise<Unacknowledged> {
    const ends = await Promise.all(
      this.seats.map((seat) => {
        clearTimeout(seat.respawn);
        seat.owner++;
        seat.status = "ending";
        return this.dismiss(seat, message);
      }),
    );
    for (const port of this.ports) port.close();
    clearInterval(this.watch);
    this.onEnd?.();
    return { unacknowledged: ends.reduce((sum, unacknowledged) => sum + unacknowledged, 0) };
  }

  /** Puts a worker into an empty place. Resolves when it serves; rejects where it cannot. */
  private seat(seat: Seat): Promise<void> {
    const worker = this.fork(seat.place);
    const began = performance.now();
    seat.worker = worker;
    seat.status = "starting";
    seat.served = false;
    return new Promise((resolve, reject) => {
      const ended = (error: Error): void => {
        clearTimeout(silent);
        reject(error);
        if (seat.worker !== worker) return;
        seat.worker = undefined;
        seat.stats = NOTHING;
        const lost = seat.status === "serving" || seat.status === "leaving";
        seat.status = "empty";
        if (!lost || this.ending !== undefined) return;
        this.steer();
        this.onError(error, { method: "serve" });
        if (performance.now() - began > STABLE_MS) seat.losses = 0;
        this.replace(seat);
      };
      const silent = setTimeout(() => this.onError(silence(seat.place), { method: "serve" }), SILENT_MS);
      worker.on("message", (message: FromWorker | null) => {
        seat.heard = performance.now();
        if (message?.quicrpc === "join") clearTimeout(silent);
        if (message?.quicrpc === "join") send(worker, { quicrpc: "joined", ticketKey: this.ticketKey });
        if (message?.quicrpc === "stats") seat.stats = message.stats;
        if (message?.quicrpc === "failed") {
          reject(errorOf(message.error));
          worker.process.kill("SIGKILL");
        }
        if (message?.quicrpc === "leaving" && seat.status === "serving") {
          seat.status = "leaving";
          this.steer();
        }
        // Its server is over, and the rest of its program may not be.
        if (message?.quicrpc === "over" && seat.status === "leaving") this.force(worker, GRACE_MS);
        if (message?.quicrpc !== "ready" || seat.status !== "starting") return;
        this.served = message.urls;
        seat.served = true;
        seat.status = "serving";
        this.steer();
        resolve();
      });
      worker.on("error", (error: Error) => {
        if (worker.process.pid === undefined) ended(error);
        else this.onError(error, { method: "serve" });
      });
      worker.once("exit", (code: number | null, signal: string | null) => {
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
        ended(new Error(`worker ${seat.place} (process ${worker.process.pid}) ended: ${how}`));
      });
    });
  }

  /** Fills a place after a while, unless somebody else takes care of it meanwhile. */
  private replace(seat: Seat): void {
    const { owner } = seat;
    const again = async (): Promise<void> => {
      try {
        await this.seat(seat);
      } catch (error) {
        if (this.ending !== undefined || seat.owner !== owner) return;
        this.onError(error, { method: "serve" });
        this.replace(seat);
      }
    };
    seat.respawn = setTimeout(() => void again(), backoffDelay(seat.losses++, BACKOFF));
  }

  private fork(place: number): Worker {
    const sockets = this.ports.flatMap(({ members }) => members[place]?.descriptor ?? []);
    const { stdio } = cluster.settings;
    cluster.setupPrimary({ stdio: ["inherit", "inherit", "inherit", "ipc", ...sockets] });
    const own: Place = { place, ports: sockets.length };
    const worker = cluster.fork({ [PLACE_VARIABLE]: JSON.stringify(own) });
    // Processes that the program forks itself have no business with these.
    cluster.setupPrimary({ stdio });
    refer(worker, this.referenced);
    topicRelay.attach(worker);
    return worker;
  }

  /** New clients go to the workers that serve; where none does they wait in the sockets. */
  private steer(): void {
    if (this.ending !== undefined) return;
    const serving = this.seats.filter(({ status }) => status === "serving");
    const places = (serving.length > 0 ? serving : this.filled).map(({ place }) => place);
    for (const port of this.ports) port.accept(places);
  }

  /** Ends a worker's server, and then its process, by force where it does not. Resolves to the notifications that were not acknowledged. */
  private dismiss(seat: Seat, message: ToWorker): Promise<number> {
    const { worker } = seat;
    if (worker === undefined) return Promise.resolve(0);
    return new Promise((resolve) => {
      let lost = 0;
      const timeMs = message.quicrpc === "drain" ? (message.timeoutMs ?? 0) : 0;
      let stop = this.force(worker, seat.served ? Math.min(timeMs + GRACE_MS, this.maxTimeoutMs) : 0);
      const hurry = (): void => {
        stop();
        stop = this.force(worker, GRACE_MS);
      };
      seat.hurry = hurry;
      worker.on("message", (told: FromWorker | null) => {
        if (told?.quicrpc !== "over") return;
        lost = told.unacknowledged;
        hurry();
      });
      worker.once("exit", () => {
        stop();
        seat.hurry = undefined;
        resolve(lost);
      });
      send(worker, message);
    });
  }

  /** Ends a worker's process after so many milliseconds, unless it has ended or what this returns is called. */
  private force(worker: Worker, afterMs: number): () => void {
    let timer = setTimeout(() => {
      worker.process.kill("SIGTERM");
      timer = setTimeout(() => worker.process.kill("SIGKILL"), GRACE_MS);
    }, afterMs);
    const stop = (): void => clearTimeout(timer);
    worker.once("exit", stop);
    return stop;
  }

  private async kill(seat: Seat): Promise<void> {
    const { worker } = seat;
    clearTimeout(seat.respawn);
    if (worker === undefined) return;
    seat.status = "ending";
    const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.process.kill("SIGKILL");
    await gone;
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

function send(worker: Worker | undefined, message: ToWorker): void {
  if (worker?.isConnected() === true) worker.send(message, () => {});
}

function refer(worker: Worker | undefined, referenced: boolean): void {
  if (worker === undefined) return;
  const { process: child } = worker;
  if (referenced) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

function errorOf({ name, message, code, url, hint }: ToldError): Error {
  if (code !== undefined && url !== undefined) return new TransportError({ code, url, message, hint });
  return name === "TypeError" ? new TypeError(message) : new Error(message);
}
