import type { AnyMethod } from "@quicrpc/core/generated";
import { backoffDelay, DEFAULT_BACKOFF } from "../../packages/core/src/call/backoff.js";
import { type Balance, type BalancedTarget, balancer } from "../../packages/pool/src/balance.js";
import { Subset } from "../../packages/pool/src/rendezvous.js";
import { RetryBudget } from "../../packages/core/src/interceptors/retry.js";

/** A fleet, and its incidents. Times are in virtual milliseconds. */
export interface FleetOptions {
  readonly servers: number;
  readonly clients: number;
  /** Targets of each client. */
  readonly size: number;
  /** Calls per second of each client. */
  readonly callRate: number;
  /** Calls per second that a server can answer. */
  readonly capacity: number;
  readonly lossAt: number;
  readonly lost: number;
  readonly returnAt: number;
  readonly endAt: number;
  /** Whether calls are made again within a budget; otherwise as often as attempts are allowed. */
  readonly budgets: boolean;
}

/** One second of the fleet. */
export interface Second {
  /** Calls that clients made, without further attempts. */
  calls: number;
  /** Calls as they arrived at servers or were lost on the way, further attempts included. */
  attempts: number;
  answered: number;
  failed: number;
  dials: number;
  /** Calls that arrived at each server that lives, in ascending order. */
  loads: number[];
}

export interface FleetResult {
  readonly seconds: readonly Second[];
  /** Clients of each server at the start, in ascending order. */
  readonly sessions: readonly number[];
}

const TICK_MS = 10;
/** As `retry()` has it by default. */
const MAX_ATTEMPTS = 4;
/** Calls that wait at a server; more are refused. */
const QUEUE = 50;

interface Server {
  alive: boolean;
  readonly queue: Attempt[];
  arrivals: number;
  /** Calls that it may still answer in this tick, or a part of one. */
  credit: number;
}

interface Target extends BalancedTarget {
  calls: number;
  readonly server: Server;
  readonly holder: Client;
  failures: number;
}

interface Client {
  readonly targets: readonly Target[];
  ready: readonly Target[];
  readonly balance: Balance;
  /** The pool's, for calls that were refused. */
  readonly moves: RetryBudget;
  /** The budget of `retry()`. */
  readonly retries: RetryBudget;
}

interface Attempt {
  readonly client: Client;
  readonly count: number;
  /** It was refused by one server, and is made on another. */
  readonly moved: boolean;
  target: Target;
}

/**
 * Simulates a fleet of clients, which use the library's balancing, subsets, backoff and budgets, and of modelled
 * servers.
 */
export class Fleet {
  private readonly options: FleetOptions;
  private readonly servers: readonly Server[];
  private readonly clients: readonly Client[];
  private readonly agenda: Map<number, (() => void)[]> = new Map();
  private readonly seconds: Second[] = [];
  private now = 0;
  private second: Second = emptySecond();

  constructor(options: FleetOptions) {
    this.options = options;
    this.servers = Array.from({ length: options.servers }, () => ({
      alive: true,
      queue: [],
      arrivals: 0,
      credit: 0,
    }));
    const specs = this.servers.map((_, i) => ({ target: `quic://10.1.${i}.1:4433`, weight: 1, priority: 0 }));
    this.clients = Array.from({ length: options.clients }, (_, i) => {
      const places = new Subset({ size: options.size, client: `pod-${i}` }).ranks(specs);
      const client: Client = {
        targets: [],
        ready: [],
        balance: balancer("powerOfTwo"),
        moves: new RetryBudget(),
        retries: new RetryBudget(),
      };
      const targets = specs.flatMap(({ target, weight }, n) => {
        const server = this.servers[n];
        if (server === undefined || places.get(target) !== 0) return [];
        return [{ target, weight, calls: 0, server, holder: client, failures: 0 }];
      });
      return Object.assign(client, { targets, ready: targets });
    });
  }

  run(): FleetResult {
    const { lossAt, lost, returnAt, endAt, clients, callRate } = this.options;
    const sessions = this.servers.map(
      (server) => this.clients.filter(({ targets }) => targets.some((each) => each.server === server)).length,
    );
    const perTick = (clients * callRate * TICK_MS) / 1000;
    const doomed = new Set(this.servers.slice(0, lost));
    for (; this.now < endAt; this.now += TICK_MS) {
      if (this.now === lossAt) this.lose(doomed);
      if (this.now === returnAt) for (const server of doomed) server.alive = true;
      for (const action of this.agenda.get(this.now) ?? []) action();
      this.agenda.delete(this.now);
      for (let i = 0; i < perTick; i++) this.call(this.clients[Math.floor(Math.random() * clients)] as Client);
      for (const server of this.servers) this.answer(server);
      if ((this.now + TICK_MS) % 1000 === 0) this.closeSecond();
    }
    return { seconds: this.seconds, sessions: sessions.toSorted((a, b) => a - b) };
  }

  private call(client: Client): void {
    this.second.calls++;
    this.attempt(client, 1, false);
  }

  private attempt(client: Client, count: number, moved: boolean): void {
    if (client.ready.length === 0) {
      // Calls wait for a session; here they fail, which is worse.
      this.second.failed++;
      return;
    }
    const target = client.balance(client.ready, {} as AnyMethod, undefined, undefined);
    const { server } = target;
    this.second.attempts++;
    server.arrivals++;
    const attempt: Attempt = { client, count, moved, target };
    if (server.queue.length >= QUEUE) this.refused(attempt);
    else {
      target.calls++;
      server.queue.push(attempt);
    }
  }

  private answer(server: Server): void {
    server.credit = Math.min(server.credit + (this.options.capacity * TICK_MS) / 1000, Math.max(1, QUEUE));
    while (server.credit >= 1) {
      const attempt = server.queue.shift();
      if (attempt === undefined) return;
      server.credit--;
      attempt.target.calls--;
      attempt.client.moves.earn();
      attempt.client.retries.earn();
      this.second.answered++;
    }
  }

  /** The server has too much to do: the pool makes the call on another once, then `retry()` may. */
  private refused({ client, count, moved }: Attempt): void {
    if (!moved && (client.moves.spend() || !this.options.budgets)) this.attempt(client, count, true);
    else this.again(client, count);
  }

  private again(client: Client, count: number): void {
    const may = client.retries.spend() || !this.options.budgets;
    if (!may || count >= MAX_ATTEMPTS) {
      this.second.failed++;
      return;
    }
    this.in(Math.random() * 50 * 2 ** (count - 1), () => this.attempt(client, count + 1, false));
  }

  private lose(doomed: ReadonlySet<Server>): void {
    for (const server of doomed) {
      server.alive = false;
      for (const { client, count, target } of server.queue.splice(0)) {
        target.calls--;
        this.again(client, count);
      }
    }
    for (const client of this.clients) {
      client.ready = client.targets.filter(({ server }) => server.alive);
      for (const target of client.targets) if (!target.server.alive) this.redial(target);
    }
  }

  private redial(target: Target): void {
    this.in(backoffDelay(target.failures++, DEFAULT_BACKOFF), () => {
      this.second.dials++;
      if (!target.server.alive) return this.redial(target);
      target.failures = 0;
      target.holder.ready = [...target.holder.ready, target];
    });
  }

  private in(ms: number, action: () => void): void {
    const at = this.now + Math.max(1, Math.ceil(ms / TICK_MS)) * TICK_MS;
    const others = this.agenda.get(at);
    if (others === undefined) this.agenda.set(at, [action]);
    else others.push(action);
  }

  private closeSecond(): void {
    const alive = this.servers.filter((server) => server.alive);
    this.second.loads = alive.map(({ arrivals }) => arrivals).toSorted((a, b) => a - b);
    this.seconds.push(this.second);
    this.second = emptySecond();
    for (const server of this.servers) server.arrivals = 0;
  }
}

function emptySecond(): Second {
  return { calls: 0, attempts: 0, answered: 0, failed: 0, dials: 0, loads: [] };
}
