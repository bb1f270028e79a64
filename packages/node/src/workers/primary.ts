import cluster, { type Worker } from "node:cluster";
import { randomBytes } from "node:crypto";
import type { CloseOptions, ErrorHook, Unacknowledged } from "@quicrpc/core/internal";
import type { Limits, Session } from "@quicrpc/core";
import type { GroupMember, PortGroup } from "@quicrpc/quic";
import { checkDrain } from "../paced-drain.js";
import type { Server, ServerDrainOptions, ServerStats, WorkerGroup } from "../server.js";
import { workerExecArgv } from "./exec-argv.js";
import { FIRST_SOCKET, type ToWorker, WORKER_VARIABLE } from "./messages.js";
import type { PassedListeners } from "./passed-listeners.js";
import { NO_STATS, WorkerSlot, type SlotGroup } from "./worker-slot.js";
import { topicRelay } from "./topic-relay.js";
import { refer } from "./worker-process.js";

const TICKET_KEY_BYTES = 32;
/** Number of checks for blocked workers within `workerHangTimeoutMs`. */
const CHECKS = 5;

/**
 * The server in the main process of a group of workers. It serves no clients itself, and replaces workers that exit.
 */
export class PrimaryServer implements Server {
  readonly sessions: ReadonlySet<Session> = new Set();
  readonly group: WorkerGroup;
  onEnd: (() => void) | undefined = undefined;
  private readonly ports: readonly PortGroup[];
  private readonly passed: PassedListeners | undefined;
  private readonly slots: readonly WorkerSlot[];
  private readonly onError: ErrorHook;
  /** Default timeout of a worker's drain in milliseconds. */
  private readonly maxDrainMs: number;
  /** Maximum of a drain's timeout in milliseconds (`limits.maxTimeoutMs`). */
  private readonly maxTimeoutMs: number;
  private servedUrls: readonly string[] = [];
  private referenced = true;
  private drained: Promise<Unacknowledged> | undefined = undefined;
  private restarting: Promise<void> = Promise.resolve();
  private readonly watch: ReturnType<typeof setInterval>;

  constructor(
    ports: readonly PortGroup[],
    passed: PassedListeners | undefined,
    size: number,
    onError: ErrorHook,
    maxSilenceMs: number,
    { maxDrainMs, maxTimeoutMs }: Limits,
  ) {
    this.ports = ports;
    this.passed = passed;
    this.onError = onError;
    this.maxDrainMs = maxDrainMs;
    this.maxTimeoutMs = maxTimeoutMs;
    const slotGroup = this.slotGroup();
    this.slots = Array.from({ length: size + 1 }, (_, place) => new WorkerSlot(place, place === size, slotGroup));
    this.watch = setInterval(this.endUnresponsive(maxSilenceMs), maxSilenceMs / CHECKS).unref();
    this.group = {
      size,
      pids: () => this.slots.flatMap(({ worker }) => worker?.process.pid ?? []),
      restart: (options) => this.restart(options),
    };
  }

  get urls(): readonly string[] {
    return this.servedUrls;
  }

  get address(): { readonly host: string; readonly port: number } {
    const url = this.servedUrls.find((text) => !text.startsWith("unix:"));
    if (url === undefined) throw new TypeError("the server listens on a path, not on a port");
    const { hostname, port } = new URL(url);
    return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
  }

  /**
   * Starts every worker, and accepts connections on the passed stream sockets. If a worker cannot serve, ends all
   * workers and rejects with that worker's error.
   */
  async start(streams: readonly number[]): Promise<void> {
    try {
      await this.passed?.listen(streams);
      await Promise.all(this.filled.map((slot) => slot.fill()));
    } catch (error) {
      this.drained = Promise.resolve({ unacknowledged: 0 });
      await Promise.all(this.slots.map((slot) => slot.kill()));
      this.release();
      throw error;
    }
  }

  stats(): ServerStats {
    const sum: { -readonly [Name in keyof ServerStats]: ServerStats[Name] } = { ...NO_STATS };
    for (const { stats } of this.slots) {
      for (const name of Object.keys(NO_STATS) as (keyof ServerStats)[]) sum[name] += stats[name];
    }
    return sum;
  }

  async drain(options: ServerDrainOptions = {}): Promise<Unacknowledged> {
    checkDrain(options);
    this.drained ??= this.end(this.drainMessage(options));
    return this.drained;
  }

  close(options: CloseOptions = {}): Promise<Unacknowledged> {
    const { closeCode, reason } = options;
    const message: ToWorker = { quicrpc: "close", closeCode, reason };
    // A drain in progress is cut short.
    if (this.drained !== undefined) for (const slot of this.slots) slot.endSoon(message);
    this.drained ??= this.end(message);
    return this.drained;
  }

  /** No-op: the program in each worker replaces its certificates itself. */
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
    for (const { worker } of this.slots) refer(worker, referenced);
    this.passed?.refer(referenced);
  }

  /** Slots that have a worker, or will get one. */
  private get filled(): readonly WorkerSlot[] {
    return this.slots.filter(({ isSpare }) => !isSpare);
  }

  private slotGroup(): SlotGroup {
    const isEnding = (): boolean => this.drained !== undefined;
    // No ticket outlives the group.
    const ticketKey = randomBytes(TICKET_KEY_BYTES).toString("base64");
    return {
      shareOf: (place) => ({
        ticketKey,
        members: inWorker(this.membersOf(place)),
        passed: this.passed?.sockets,
        streams: this.passed?.streams ?? [],
      }),
      maxTimeoutMs: this.maxTimeoutMs,
      get isEnding() {
        return isEnding();
      },
      fork: (place) => this.fork(place),
      onServing: (urls) => {
        this.servedUrls = urls;
        this.updateSteering();
      },
      onLeaving: () => this.updateSteering(),
      report: (error) => this.onError(error, { method: "serve" }),
    };
  }

  /**
   * Restarts one worker after another. Each replacement starts in the spare slot. The old worker is drained afterwards,
   * and its slot becomes the spare one.
   */
  private async restart(options: ServerDrainOptions = {}): Promise<void> {
    checkDrain(options);
    const next = async (before: Promise<void>): Promise<void> => {
      await before.catch(() => {});
      for (const slot of this.filled) {
        if (this.drained !== undefined) return;
        await this.succeed(slot, options);
      }
    };
    this.restarting = next(this.restarting);
    return this.restarting;
  }

  /** Replaces a serving worker. Rejects if the new worker cannot serve; the old worker then continues. */
  private async succeed(slot: WorkerSlot, options: ServerDrainOptions): Promise<void> {
    const next = this.slots.find(({ isSpare }) => isSpare) as WorkerSlot;
    try {
      await next.fill();
    } catch (error) {
      await next.kill();
      if (this.drained !== undefined) return;
      throw error;
    }
    if (this.drained !== undefined) return;
    next.isSpare = false;
    slot.isSpare = true;
    const slotEnd = slot.end(this.drainMessage(options));
    this.updateSteering();
    await slotEnd;
  }

  private drainMessage({ timeoutMs = this.maxDrainMs, ...options }: ServerDrainOptions): ToWorker {
    return { quicrpc: "drain", timeoutMs: Math.min(timeoutMs, this.maxTimeoutMs), options };
  }

  private async end(message: ToWorker): Promise<Unacknowledged> {
    this.passed?.close();
    const ends = await Promise.all(this.slots.map((slot) => slot.end(message)));
    this.release();
    this.onEnd?.();
    return { unacknowledged: ends.reduce((sum, unacknowledged) => sum + unacknowledged, 0) };
  }

  private release(): void {
    for (const port of this.ports) port.close();
    this.passed?.close();
    clearInterval(this.watch);
  }

  /**
   * Starts to end workers that have not responded for `maxSilenceMs`; they are replaced. Returns a function that stops
   * this.
   */
  private endUnresponsive(maxSilenceMs: number): () => void {
    let last = performance.now();
    return () => {
      const now = performance.now();
      // If this process itself was blocked, it could not receive the workers' messages.
      const isLate = now - last > (2 * maxSilenceMs) / CHECKS;
      last = now;
      for (const slot of this.slots) slot.endUnresponsive(maxSilenceMs, isLate ? now : undefined);
    };
  }

  /**
   * Directs packets of new clients to the workers that serve. If there are none, the packets wait in the sockets.
   * Another worker ends the sessions of workers that have exited.
   */
  private updateSteering(): void {
    if (this.drained !== undefined) return;
    const serving = this.slots.filter(({ serves }) => serves);
    const places = (serving.length > 0 ? serving : this.filled).map(({ place }) => place);
    const empty = this.slots.filter(({ worker }) => worker === undefined).map(({ place }) => place);
    for (const port of this.ports) {
      const inPort = (place: number): number | readonly number[] => port.members[place]?.place ?? [];
      port.accept(places.flatMap(inPort), empty.flatMap(inPort));
    }
    this.passed?.passTo(serving.flatMap(({ worker }) => worker ?? []));
  }

  private membersOf(place: number): readonly GroupMember[] {
    return this.ports.flatMap(({ members }) => members[place] ?? []);
  }

  private fork(place: number): Worker {
    const sockets = this.membersOf(place).flatMap(({ descriptor }) => descriptor ?? []);
    const { stdio, execArgv = process.execArgv } = cluster.settings;
    cluster.setupPrimary({
      stdio: ["inherit", "inherit", "inherit", "ipc", ...sockets],
      execArgv: [...execArgv, ...workerExecArgv()],
    });
    const worker = cluster.fork({ [WORKER_VARIABLE]: "1" });
    // Processes that the program forks itself must not get these settings.
    cluster.setupPrimary({ stdio, execArgv });
    refer(worker, this.referenced);
    topicRelay.attach(worker);
    return worker;
  }
}

/** Returns the sockets with the file descriptors that they have in the worker. */
function inWorker(members: readonly GroupMember[]): readonly GroupMember[] {
  let next = FIRST_SOCKET;
  return members.map((member) => (member.relay === undefined ? { ...member, descriptor: next++ } : member));
}
