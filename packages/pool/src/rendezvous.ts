import type { CallOptions } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type Balance, type BalancedTarget, type BalanceName, balancer } from "./balance.js";
import type { TargetSpec } from "./discovery.js";

/** A call for which the option `key` of `hash` returns a key. */
interface KeyedCall {
  readonly method: AnyMethod;
  /** Input message of the call. Undefined if the caller streams its input. */
  readonly input: unknown;
  readonly options: CallOptions | undefined;
}

/** Balancers that `hash` has created. */
const keyed = new WeakSet<Balance>();

/** Returns true if the balancer was created by `hash`, which sends all calls with the same key to the same target. */
export function isKeyed(balance: BalanceName | Balance | undefined): boolean {
  return typeof balance === "function" && keyed.has(balance);
}

/**
 * Returns a balancer that sends all calls with the same key to the same target, from every client that knows the same
 * targets and has sessions with them. If a target is removed, only its own keys move to others. A new target takes over
 * keys in proportion to its weight. Calls for which `key` returns undefined are distributed by the balancer
 * `otherwise`.
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
      // An exponential random number with the rate `weight`: each target has the smallest number with a probability
      // proportional to its weight.
      const score = -Math.log(1 - preference(holder, targetHash)) / target.weight;
      if (score < lowest) [best, lowest] = [target, score];
    }
    return best;
  };
  keyed.add(balance);
  return balance;
}

/**
 * Returns a hash of 32 bits of a text (FNV-1a with an additional mixing step). The result is the same on every platform
 * and in every version.
 */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/**
 * Returns the preference of one party for another, from 0 to below 1, by rendezvous hashing. Both are given by their
 * hashes. Each `holder` keeps its most preferred candidates if others are added or removed, and each candidate is
 * preferred by about the same number of holders.
 */
function preference(holder: number, candidate: number): number {
  return mixed(mixed(holder ^ candidate) + Math.imul(candidate, 0x9e3779b1)) / 0x1_0000_0000;
}

/** Spreads the bits of a hash (the last step of MurmurHash3). */
function mixed(seed: number): number {
  let hash = seed;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Options that select the targets, out of many, with which a pool has sessions. */
export interface SubsetOptions {
  /**
   * Number of targets of each priority with which the pool has sessions. If none of them can be used, the pool dials
   * the same number of further targets.
   */
  readonly size: number;
  /**
   * Stable name of this client, such as the name of its pod, so that it selects the same targets again after a restart.
   * Default: a random name.
   */
  readonly client?: string;
}

/**
 * Selects targets for one client by rendezvous hashing. If targets are added or removed, the selection changes as
 * little as possible.
 */
export class Subset {
  private readonly size: number;
  private readonly client: number;

  constructor({ size, client = String(Math.random()) }: SubsetOptions) {
    this.size = size;
    this.client = hashOf(client);
  }

  /**
   * Returns the rank of each target. Within a priority, targets with the ranks 0 to `size - 1` are dialled first, and
   * then the next `size` targets.
   */
  ranks(specs: readonly Required<TargetSpec>[]): ReadonlyMap<string, number> {
    const preferred = specs
      .map(({ target, priority }) => ({ target, priority, by: preference(this.client, hashOf(target)) }))
      .toSorted((a, b) => a.priority - b.priority || b.by - a.by || (a.target < b.target ? -1 : 1));
    const ranks = new Map<string, number>();
    let first = 0;
    preferred.forEach(({ target, priority }, index) => {
      if (priority !== preferred[first]?.priority) first = index;
      ranks.set(target, Math.floor((index - first) / this.size));
    });
    return ranks;
  }
}
