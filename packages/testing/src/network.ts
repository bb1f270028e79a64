import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import type { Conditions } from "./conditions.js";
import { type Link, LINK_OPTIONS, type LinkOptions } from "./link.js";
import { openTcpLink } from "./tcp-link.js";
import { openUdpLink } from "./udp-link.js";

/** Number of attempts to find a port that is free for both UDP and TCP. */
const ATTEMPTS = 20;
const OUTAGES_EVERY_MS = 30_000;

/** Options for periodic outages of a simulated network. */
export interface Outages {
  /** Duration of an outage in milliseconds. */
  readonly offlineMs: number;
  /**
   * Milliseconds from the start of one outage to the start of the next. The first outage begins after `everyMs -
   * offlineMs`. Default: 30,000.
   */
  readonly everyMs?: number;
}

/** Options of `openNetwork`. */
export interface NetworkOptions extends LinkOptions {
  /** Makes the network fail periodically. Default: never. */
  readonly outages?: Outages | undefined;
}

const OPTIONS: OptionNames<NetworkOptions> = { ...LINK_OPTIONS, outages: { everyMs: true, offlineMs: true } };

/**
 * Opens a simulated network: forwards UDP and TCP from one port to the server's port. Rejects if the port is in use.
 */
export async function openNetwork(networkOptions: NetworkOptions): Promise<Link> {
  checkOptions("openNetwork()", networkOptions, OPTIONS);
  const { outages, ...options } = networkOptions;
  if (outages !== undefined && !(outages.offlineMs > 0 && outages.offlineMs < (outages.everyMs ?? OUTAGES_EVERY_MS))) {
    throw new TypeError("offlineMs of outages must be above 0 and below everyMs");
  }
  const network = await openBoth(options);
  return outages === undefined ? network : new FailingNetwork(network, outages);
}

async function openBoth(options: LinkOptions): Promise<Link> {
  const requestedPort = options.listen?.port ?? 0;
  for (let attempt = 1; ; attempt++) {
    const udp = await openUdpLink(options);
    try {
      return new Network(udp, await openTcpLink({ ...options, listen: { ...options.listen, port: udp.port } }));
    } catch (error) {
      udp.close();
      // A port that is free for UDP need not be so for TCP.
      if (requestedPort !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

class Network implements Link {
  private readonly links: readonly [Link, Link];

  constructor(udp: Link, tcp: Link) {
    this.links = [udp, tcp];
  }

  get port(): number {
    return this.links[0].port;
  }

  get conditions(): Conditions {
    return this.links[0].conditions;
  }

  set conditions(conditions: Partial<Conditions>) {
    for (const link of this.links) link.conditions = conditions;
  }

  move(): void {
    for (const link of this.links) link.move();
  }

  close(): void {
    for (const link of this.links) link.close();
  }
}

class FailingNetwork implements Link {
  private readonly network: Link;
  private readonly offlineMs: number;
  private readonly onlineMs: number;
  private timer: NodeJS.Timeout;
  /** Network conditions between outages. */
  private online: Partial<Conditions>;
  private isOffline = false;

  constructor(network: Link, { offlineMs, everyMs = OUTAGES_EVERY_MS }: Outages) {
    this.network = network;
    this.online = network.conditions;
    this.offlineMs = offlineMs;
    this.onlineMs = everyMs - offlineMs;
    this.timer = setTimeout(() => this.nextStep(), this.onlineMs);
  }

  get port(): number {
    return this.network.port;
  }

  get conditions(): Conditions {
    return this.network.conditions;
  }

  set conditions(conditions: Partial<Conditions>) {
    this.online = conditions;
    this.network.conditions = this.isOffline ? { ...conditions, blackout: true } : conditions;
  }

  move(): void {
    this.network.move();
  }

  close(): void {
    clearTimeout(this.timer);
    this.network.close();
  }

  private nextStep(): void {
    this.isOffline = !this.isOffline;
    this.conditions = this.online;
    this.timer = setTimeout(() => this.nextStep(), this.isOffline ? this.offlineMs : this.onlineMs);
  }
}
