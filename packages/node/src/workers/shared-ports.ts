import cluster, { type Worker } from "node:cluster";
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import type { ConnectionIdOptions, PortGroup } from "@quicrpc/quic";
import { isOverUdp, isPassed, type ProvidedTarget, targetsOf, urlOf } from "../listen/listen.js";
import type { ServeSettings } from "../serve-options.js";
import { type FromWorker, type PortDescription, SHARED_VARIABLE, type ToWorker } from "./messages.js";
import { bindPorts, claimWorkers } from "./ports.js";
import { topicRelay } from "./topic-relay.js";
import { send } from "./worker-process.js";

const MOST_PLACES = 128;
const LEAST_PLACES = 8;
const TICKET_KEY_BYTES = 32;

/** Options of `shareUdpPorts`: the options of `serve` in each worker, and the maximum number of workers. */
export interface SharedPortOptions
  extends Pick<ServeSettings, "connectionIds" | "host" | "listen" | "port" | "transports"> {
  /**
   * Maximum number of concurrent workers, from 1 to 128. Workers that end while their replacements start also count.
   * Default: two per core, and at least 8.
   */
  readonly places?: number;
}

/** UDP ports that the primary process of node:cluster shares with its workers. */
export interface SharedPorts {
  /** Numbers of the UDP ports, in the order of `listen`. */
  readonly ports: readonly number[];
  /** Stops sharing the ports with new workers. Workers that serve continue until they end. */
  close(): void;
}

const OPTIONS: OptionNames<SharedPortOptions> = {
  connectionIds: { config: true, key: true, nonceBytes: true, serverId: true },
  host: true,
  listen: true,
  places: true,
  port: true,
  transports: true,
};

export function describePorts(
  targets: readonly ProvidedTarget[],
  connectionIds: ConnectionIdOptions | undefined,
): PortDescription {
  const { serverId, key, nonceBytes, config } = connectionIds ?? {};
  const bytes = (value: Uint8Array | string): string =>
    typeof value === "string" ? value.toLowerCase().replace(/^0x/, "") : Buffer.from(value).toString("hex");
  return {
    urls: targets.filter(isOverUdp).map(urlOf),
    ids: JSON.stringify([serverId && bytes(serverId), key && bytes(key), nonceBytes, config]),
  };
}

/** Opens the UDP ports, and shares them with the workers that this process forks from now on. */
export function sharePorts(options: SharedPortOptions): SharedPorts {
  checkOptions("shareUdpPorts()", options, OPTIONS);
  const { places = Math.min(MOST_PLACES, Math.max(LEAST_PLACES, 2 * availableParallelism())), connectionIds } = options;
  if (!cluster.isPrimary)
    throw new TypeError("shareUdpPorts() must be called in the primary of node:cluster, before it forks");
  if (!Number.isInteger(places) || places < 1 || places > MOST_PLACES) {
    throw new TypeError(`the option places must be an integer from 1 to ${MOST_PLACES}, not ${String(places)}`);
  }
  const targets = targetsOf(options);
  if (targets.some(isPassed)) {
    throw new TypeError("shareUdpPorts() does not support systemd: sockets; use serve({ workers })");
  }
  const described = describePorts(targets, connectionIds);
  if (described.urls.length === 0) {
    throw new TypeError("shareUdpPorts() only supports quic:// and https://: node:cluster itself shares TCP ports");
  }
  const releaseClaim = claimWorkers("shareUdpPorts()");
  try {
    return new PortOwner(bindPorts(options, targets, places), places, described, releaseClaim);
  } catch (error) {
    releaseClaim();
    throw error;
  }
}

/** A worker that uses sockets of the shared ports, from its first call of `serve` until its process has exited. */
interface Holder {
  readonly place: number;
  serves: boolean;
}

/** Assigns sockets to each worker, and directs packets to the workers that serve. */
class PortOwner implements SharedPorts {
  readonly ports: readonly number[];
  private readonly groups: readonly PortGroup[];
  private readonly places: number;
  private readonly described: PortDescription;
  private readonly releaseClaim: () => void;
  // No ticket outlives the group.
  private readonly ticketKey: string = randomBytes(TICKET_KEY_BYTES).toString("base64");
  private readonly holders: Map<Worker, Holder> = new Map();
  /**
   * File descriptors that every worker inherits. They include all sockets, because a worker is forked before its
   * sockets are assigned.
   */
  private readonly inherited: readonly number[];
  private readonly before: { readonly stdio: typeof cluster.settings.stdio };
  /** Number of the first file descriptor in a worker that is a socket of the shared ports. */
  private readonly first: number;
  private readonly onMessage = (worker: Worker, message: FromWorker | null): void => this.receive(worker, message);
  private readonly onExit = (worker: Worker): void => this.release(worker);
  private readonly onLeave = (worker: Worker): void => this.serves(worker, false);
  private readonly meet = (worker: Worker): void => topicRelay.attach(worker);

  constructor(groups: readonly PortGroup[], places: number, described: PortDescription, releaseClaim: () => void) {
    this.groups = groups;
    this.places = places;
    this.described = described;
    this.releaseClaim = releaseClaim;
    this.ports = groups.map(({ port }) => port);
    this.inherited = groups.flatMap(({ members }) => members.flatMap(({ descriptor }) => descriptor ?? []));
    const { stdio, silent = false } = cluster.settings;
    this.before = { stdio };
    const usual = Array.isArray(stdio)
      ? stdio
      : [...Array.from({ length: 3 }, () => (silent ? "pipe" : "inherit")), "ipc"];
    this.first = usual.length;
    cluster.setupPrimary({ stdio: [...usual, ...this.inherited] });
    process.env[SHARED_VARIABLE] = String(process.pid);
    cluster.on("fork", this.meet);
    cluster.on("message", this.onMessage);
    cluster.on("disconnect", this.onLeave);
    cluster.on("exit", this.onExit);
    this.updateSteering();
  }

  close(): void {
    if (process.env[SHARED_VARIABLE] === undefined) return;
    delete process.env[SHARED_VARIABLE];
    cluster.setupPrimary(this.before);
    cluster.off("fork", this.meet);
    cluster.off("message", this.onMessage);
    cluster.off("disconnect", this.onLeave);
    cluster.off("exit", this.onExit);
    for (const group of this.groups) group.close();
    this.releaseClaim();
  }

  private receive(worker: Worker, message: FromWorker | null): void {
    if (message?.quicrpc === "share") send(worker, this.replyTo(worker));
    if (message?.quicrpc === "ready" || message?.quicrpc === "leaving")
      this.serves(worker, message.quicrpc === "ready");
  }

  private replyTo(worker: Worker): ToWorker {
    // Node's types declare only five streams here.
    const { length } = worker.process.stdio as readonly unknown[];
    if (length < this.first + this.inherited.length) return unshared(REPLACED);
    const { place } = this.holders.get(worker) ?? this.slot(worker);
    if (place === undefined) return unshared(noPlaceText(this.places));
    let next = this.first;
    const members = this.groups.flatMap((group) => {
      // The worker has inherited all sockets of the group in this order, but with its own descriptors.
      const inherited = group.members.map((member) =>
        member.relay === undefined ? { ...member, descriptor: next++ } : member,
      );
      return inherited[place] ?? [];
    });
    const { ticketKey, described } = this;
    return { quicrpc: "shared", share: { members, ticketKey, ports: described, passed: undefined, streams: [] } };
  }

  /**
   * Assigns the first unused sockets of the ports to a worker and returns their index. `place` is undefined if all
   * sockets are in use.
   */
  private slot(worker: Worker): { readonly place: number | undefined } {
    const used = new Set(Array.from(this.holders.values(), ({ place }) => place));
    const place = Array.from({ length: this.places }, (_, at) => at).find((at) => !used.has(at));
    if (place !== undefined) this.holders.set(worker, { place, serves: false });
    return { place };
  }

  private serves(worker: Worker, serves: boolean): void {
    const holder = this.holders.get(worker);
    if (holder === undefined) return;
    holder.serves = serves;
    this.updateSteering();
  }

  private release(worker: Worker): void {
    if (this.holders.delete(worker)) this.updateSteering();
  }

  /**
   * Directs packets of new clients to the workers that serve. If there are none, the packets wait for the next worker.
   * Another worker ends the sessions of workers that have exited.
   */
  private updateSteering(): void {
    const holders = Array.from(this.holders.values());
    const serving = holders.filter(({ serves }) => serves).map(({ place }) => place);
    const used = new Set(holders.map(({ place }) => place));
    const empty = Array.from({ length: this.places }, (_, place) => place).filter((place) => !used.has(place));
    for (const group of this.groups) group.accept(serving.length > 0 ? serving : [empty[0] ?? 0], empty);
  }
}

const REPLACED =
  "the sockets were not passed to this worker: call cluster.setupPrimary({ stdio }) before shareUdpPorts()";

function noPlaceText(places: number): string {
  return `all ${places} places of the ports are in use: pass a larger \`places\` to shareUdpPorts()`;
}

function unshared(reason: string): ToWorker {
  return { quicrpc: "unshared", reason };
}
