import type { CallOptions } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type Balance, type BalancedTarget, type BalanceName, balancer } from "./balance.js";
import { hashOf, preference } from "./rendezvous.js";

/** A call, as the function sees it that says its key. */
interface KeyedCall {
  readonly method: AnyMethod;
  /** The message; undefined if the caller streams its input. */
  readonly input: unknown;
  readonly options: CallOptions | undefined;
}

/** Balancers that `hash` has made. */
const keyed = new WeakSet<Balance>();

/** Returns true if all calls with the same key go to the same target, whichever client makes them. */
export function isKeyed(balance: BalanceName | Balance | undefined): boolean {
  return typeof balance === "function" && keyed.has(balance);
}

/**
 * Returns a balancer that sends all calls with the same key to the same target, whichever client makes them, as long as
 * the clients know the same targets and those are ready. When a target leaves, only its own keys move; a new target
 * takes its share of the keys, by weight. Calls for which `key` returns undefined are balanced by `otherwise`.
 */
export function hash(
  key: (call: KeyedCall) => string | undefined,
  otherwise: BalanceName | Balance = "powerOfTwo",
): Balance {
  const hashes = new WeakMap<BalancedTarget, number>();
  const spread = balancer(otherwise);
  const balance: Balance = (targets, method, input, options) => {
    const text = key({ method, input, options });
    if (text === undefined) return spread(targets, method, input, options);
    const holder = hashOf(text);
    let best = targets[0] as (typeof targets)[number];
    let lowest = Number.POSITIVE_INFINITY;
    for (const target of targets) {
      let targetHash = hashes.get(target);
      if (targetHash === undefined) hashes.set(target, (targetHash = hashOf(target.target)));
      // An exponential variable of rate `weight`: the least of several is each one's as often as its weight says.
      const score = -Math.log(1 - preference(holder, targetHash)) / target.weight;
      if (score < lowest) [best, lowest] = [target, score];
    }
    return best;
  };
  keyed.add(balance);
  return balance;
}
