import { type ConnectionState, DEFAULT_LIMITS, type Limits, type Session, type TypedCaller } from "@quicrpc/core";
import {
  type Backoff,
  checkOptions,
  type CloseOptions,
  DEFAULT_BACKOFF,
  type DrainOptions,
  type ItemIterator,
  type OptionNames,
  type ReadyOptions,
  type Unacknowledged,
} from "@quicrpc/core/internal";
import type { Balance, BalanceName } from "./balance.js";
import { BalancingPool } from "./balancing-pool.js";
import type { ResolveTargets, TargetSpec } from "./discovery.js";
import type { HealthCheck } from "./health-watch.js";
import { DEFAULT_OUTLIERS, type OutlierOptions } from "./outliers.js";
import { isKeyed, type SubsetOptions } from "./rendezvous.js";
import type { PoolTarget } from "./target.js";

/** Options of `createPool`. */
export interface PoolOptions {
  /** The balancer that chooses the target of each call. Default "powerOfTwo". */
  readonly balance?: BalanceName | Balance;
  /** Has the pool keep sessions with some of its targets, for fleets of many. Default: with all. Not with `hash`, which needs all. */
  readonly subset?: SubsetOptions;
  /** Sessions with each target; a call takes the one with the fewest calls. Default 1. */
  readonly sessionsPerTarget?: number;
  /**
   * When a target gets no calls for a while because they fail; `false` for never. Default: after five failures in a row, or half of at least 20 calls
   * in 10 s.
   */
  readonly outliers?: Partial<OutlierOptions> | false;
  /** Sessions whose peer is not able to serve get no calls, such as by `watchHealth` of `@quicrpc/services`. Default: none is asked. */
  readonly health?: HealthCheck;
  /** Milliseconds from one answer of a resolver to the next question. Default 30,000. */
  readonly refreshMs?: number;
  /** Between the attempts to connect to one target, to resolve, and to watch health. Default: 100 ms at first, 1.6 times longer each time, 30 s at most. */
  readonly backoff?: Partial<Backoff>;
  /** Limits for waiting calls, as in a connection: `maxQueuedBytes`, `maxQueuedMs`. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /**
   * As in a connection: once every target has failed with such an error, calls fail instead of waiting. Default: always
   * false.
   */
  readonly isPermanent?: (error: Error) => boolean;
}

/** A caller whose calls are spread over sessions with several targets. */
export interface Pool<S extends Session = Session> extends TypedCaller {
  /** `ready` while any target takes calls. */
  readonly state: ConnectionState;
  /** The present state, then each change, until `closed`; a slow reader skips to the latest. */
  states(): ItemIterator<ConnectionState>;
  /** The current state of each target. */
  readonly targets: readonly PoolTarget<S>[];
  /** Dials, if the state is `idle`; attempts that wait for their time are made now. */
  connect(): void;
  /** Resolves when a target takes calls; rejects as `Connection.ready` does. */
  ready(options?: ReadyOptions): Promise<void>;
  /** Resolves when every session has ended after `close` or `drain`. Never rejects. */
  readonly closed: Promise<void>;
  /** Ends every session, as `Session.close` does, and makes no more. Calls that wait fail with `unavailable`. */
  close(options?: CloseOptions): Promise<Unacknowledged>;
  /** As `close`, but calls in progress finish, within `timeoutMs` (default: `limits.maxDrainMs`). Those that wait fail. */
  drain(options?: DrainOptions): Promise<Unacknowledged>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Names of the options of a pool, except `isPermanent`, which is set by the dialling package. */
export const POOL_OPTIONS: OptionNames<Omit<PoolOptions, "isPermanent">> = {
  backoff: DEFAULT_BACKOFF,
  balance: true,
  health: true,
  limits: DEFAULT_LIMITS,
  outliers: DEFAULT_OUTLIERS,
  refreshMs: true,
  sessionsPerTarget: true,
  subset: { size: true, client: true },
};

const OPTIONS: OptionNames<PoolOptions> = { ...POOL_OPTIONS, isPermanent: true };

/**
 * A pool of sessions with `targets`, a list or what finds it, each made by `dial`. `dial` must settle in bounded time, and
 * end its attempt when its signal fires. It starts idle: the first call dials, or `connect`. Throws `TypeError` for an empty list.
 */
export function createPool<S extends Session>(
  targets: readonly (string | TargetSpec)[] | ResolveTargets,
  dial: (target: string, signal: AbortSignal) => Promise<S>,
  options: PoolOptions = {},
): Pool<S> {
  checkOptions("createPool()", options, OPTIONS);
  const { sessionsPerTarget = 1, subset } = options;
  if (typeof targets !== "function" && targets.length === 0)
    throw new TypeError("a pool needs at least one target, as a URL");
  if (!Number.isInteger(sessionsPerTarget) || sessionsPerTarget < 1) {
    throw new TypeError(`sessionsPerTarget is ${sessionsPerTarget}: it must be an integer of at least 1`);
  }
  if (subset !== undefined && !(Number.isInteger(subset.size) && subset.size >= 1)) {
    throw new TypeError(`subset.size is ${subset.size}: it must be an integer of at least 1`);
  }
  if (subset !== undefined && isKeyed(options.balance)) {
    throw new TypeError(
      "the options hash and subset cannot be combined: with different subsets, clients would send one key to different targets",
    );
  }
  return new BalancingPool(targets, dial, options);
}
