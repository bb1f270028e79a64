import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { type Balance, type BalancedTarget, type BalanceName, balancer } from "./balance.js";
import { hashOf, preference } from "./rendezvous.js";

/** A call, as the function sees it that says its key. */
interface KeyedCall {
  readonly method: AnyMethod;
  /** The message; undefined where the caller streams. */
  readonly input: unknown;
  readonly options: CallOptions | undefined;
}

/** Balancers that `hash` has made. */
const keyed = new WeakSet<Balance>();

/** Whether calls of one key are to meet on one target, whoever makes them. */
export function isKeyed(balance: BalanceName | Balance | undefined): boolean {
  return typeof balance === "function" && keyed.has(balance);
}

/**
 * A balancer by which all calls of one key meet on one target, whichever client makes them, as long as the clients know the same targets and those are ready.
 * A target that goes costs its own keys their place and no others; one that comes takes its share, by weight. Calls for which `key` returns undefined go
 * by `otherwise`.
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
    let least = Number.POSITIVE_INFINITY;
    for (const target of targets) {
      let own = hashes.get(target);
      if (own === undefined) hashes.set(target, (own = hashOf(target.target)));
      // An exponential variable of rate `weight`: the least of several is each one's as often as its weight says.
      const draw = -Math.log(1 - preference(holder, own)) / target.weight;
      if (draw < least) [best, least] = [target, draw];
    }
    return best;
  };
  keyed.add(balance);
  return balance;
}
