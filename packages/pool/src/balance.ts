import type { CallOptions } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";

/** A target of a pool, as a balancer sees it. */
export interface BalancedTarget {
  /** Name or URL of the target, as it was passed to the pool. */
  readonly target: string;
  /** Number of calls of this pool in progress on the target. */
  readonly calls: number;
  /**
   * Share of calls that the target gets, relative to other targets: twice the weight means twice as many calls. Default
   * 1.
   */
  readonly weight: number;
}

/**
 * Selects the target of a call. `targets` is not empty and contains only targets that can take a call now. `input` is
 * undefined if the caller streams its input. If the function throws, the call fails with that error.
 */
export type Balance = <T extends BalancedTarget>(
  targets: readonly T[],
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
) => T;

/** Names of the built-in balancers. */
export type BalanceName = "roundRobin" | "leastLoaded" | "powerOfTwo";

/** Returns a balancer with its own state, for one pool. */
export function balancer(balance: BalanceName | Balance): Balance {
  switch (balance) {
    case "roundRobin":
      return roundRobin();
    case "leastLoaded":
      return leastLoaded();
    case "powerOfTwo":
      return powerOfTwo();
    default:
      if (typeof balance === "function") return balance;
      throw new TypeError(
        `balance is ${JSON.stringify(balance)}: it takes "roundRobin", "leastLoaded", "powerOfTwo" or a function`,
      );
  }
}

/**
 * Returns a balancer that selects each target in turn. Targets with a higher weight are selected more often, but not
 * consecutively.
 */
function roundRobin(): Balance {
  /** Weight that each target has accumulated since it was last selected. */
  const gathered = new WeakMap<BalancedTarget, number>();
  return (targets) => {
    let best = targets[0] as (typeof targets)[number];
    let highest = Number.NEGATIVE_INFINITY;
    let total = 0;
    for (const target of targets) {
      const sum = (gathered.get(target) ?? 0) + target.weight;
      gathered.set(target, sum);
      total += target.weight;
      if (sum > highest) [best, highest] = [target, sum];
    }
    gathered.set(best, highest - total);
    return best;
  };
}

/**
 * Returns a balancer that selects the target with the fewest calls in progress, relative to its weight. Selects among
 * equal targets at random, because otherwise all clients would use the first.
 */
function leastLoaded(): Balance {
  const draw = new WeightedDraw();
  return (targets) => {
    const start = draw.index(targets);
    let best = targets[start] as (typeof targets)[number];
    for (let i = 1; i < targets.length; i++) {
      const target = targets[(start + i) % targets.length] as (typeof targets)[number];
      if (isLessLoaded(target, best)) best = target;
    }
    return best;
  };
}

/**
 * Returns a balancer that selects the better of two random targets. The result is almost as even as with "leastLoaded",
 * in constant time if all weights are equal. Many clients with the same information do not all select the same target.
 */
function powerOfTwo(): Balance {
  const draw = new WeightedDraw();
  return (targets) => {
    const first = draw.index(targets);
    const candidate = targets[first] as (typeof targets)[number];
    if (targets.length === 1) return candidate;
    const other = targets[draw.index(targets, first)] as (typeof targets)[number];
    return isLessLoaded(other, candidate) ? other : candidate;
  };
}

function isLessLoaded(candidate: BalancedTarget, other: BalancedTarget): boolean {
  return candidate.calls * other.weight < other.calls * candidate.weight;
}

interface Weighted {
  readonly weight: number;
}

/**
 * Selects one of several elements at random, in proportion to their weights. Stores the sums of the weights as long as
 * the list stays the same.
 */
class WeightedDraw {
  private list: readonly Weighted[] = [];
  /** Cumulative sums of the weights. Undefined if all weights are equal. */
  private sums: readonly number[] | undefined = undefined;

  /** Returns the index of a random element of `targets`. Never returns `except`. */
  index(targets: readonly Weighted[], except = -1): number {
    if (targets !== this.list) this.updateWeights(targets);
    const { sums } = this;
    const { length } = targets;
    if (sums === undefined) {
      return except < 0 ? below(length) : (except + 1 + below(length - 1)) % length;
    }
    const out = targets[except]?.weight ?? 0;
    const before = (sums[except] ?? 0) - out;
    let at = Math.random() * ((sums[length - 1] as number) - out);
    // Skips the weight of the excluded target.
    if (except >= 0 && at >= before) at += out;
    const index = sums.findIndex((sum, i) => at < sum && i !== except);
    return index < 0 ? length - 1 : index;
  }

  private updateWeights(targets: readonly Weighted[]): void {
    this.list = targets;
    let sum = 0;
    const even = targets.every(({ weight }) => weight === targets[0]?.weight);
    this.sums = even ? undefined : targets.map(({ weight }) => (sum += weight));
  }
}

function below(count: number): number {
  return Math.floor(Math.random() * count) % count;
}
