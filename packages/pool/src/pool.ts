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
  /** Balancer that selects the target of each call. Default "powerOfTwo". */
  readonly balance?: BalanceName | Balance;
  /**
   * Limits the pool to sessions with some of its targets, for deployments with many servers. Cannot be combined with
   * the balancer `hash`. Default: sessions with all targets.
   */
  readonly subset?: SubsetOptions;
  /** Number of sessions with each target. A call uses the session with the fewest calls. Default 1. */
  readonly sessionsPerTarget?: number;
  /**
   * When a target gets no calls for some time because its calls fail; `false` for never. Default: after five
   * consecutive failures, or if half of at least 20 calls within 10 s fail.
   */
  readonly outliers?: Partial<OutlierOptions> | false;
  /**
   * Health check of the sessions, for example `watchHealth` of `@quicrpc/services`. Sessions whose peer reports that it
   * cannot serve get no calls. Default: none.
   */
  readonly health?: HealthCheck;
  /** Milliseconds between a result of the resolver and the next resolution of the targets. Default 30,000. */
  readonly refreshMs?: number;
  /**
   * Pauses between attempts to connect to a target, to resolve the targets, and to watch their health. Default: 100 ms
   * at first, then 1.6 times longer each time, up to 30 s.
   */
  readonly backoff?: Partial<Backoff>;
  /** Limits on waiting calls, as for a connection: `maxQueuedBytes`, `maxQueuedMs`. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /**
   * Returns true if a retry after this error cannot succeed. Once every target has failed with such an error, calls
   * fail instead of waiting. Default: always false.
   */
  readonly isPermanent?: (error: Error) => boolean;
}

/** A caller that distributes calls among sessions with several targets. */
export interface Pool<S extends Session = Session> extends TypedCaller {
  /** State of the pool: `ready` while at least one target can take calls. */
  readonly state: ConnectionState;
  /** Yields the current state, and then each change until `closed`. A slow reader skips to the latest state. */
  states(): ItemIterator<ConnectionState>;
  /** Current state of each target. */
  readonly targets: readonly PoolTarget<S>[];
  /** Starts dialling if the state is `idle`. Also retries at once where an attempt is waiting for its time. */
  connect(): void;
  /** Resolves when a target can take calls. Rejects in the same cases as `Connection.ready`. */
  ready(options?: ReadyOptions): Promise<void>;
  /** Resolves when all sessions have ended after `close` or `drain`. Never rejects. */
  readonly closed: Promise<void>;
  /**
   * Closes every session, as `Session.close` does, and creates no further ones. Waiting calls fail with `unavailable`.
   */
  close(options?: CloseOptions): Promise<Unacknowledged>;
  /**
   * Closes the pool after the calls in progress, which may take `timeoutMs` (default: `limits.maxDrainMs`). Waiting
   * calls fail with `unavailable`.
   */
  drain(options?: DrainOptions): Promise<Unacknowledged>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Option names of a pool. `isPermanent` is missing, because the package that dials sets it. */
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
 * Creates a pool of sessions with `targets`, which is a list or a function that returns one. `dial` creates a session.
 * It must settle within a limited time, and stop when its signal fires. The pool is idle until the first call or
 * `connect`. Throws `TypeError` for an empty list.
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
