import type { CallOptions } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type Balance, type BalancedTarget, type BalanceName, balancer } from "./balance.js";
import type { TargetSpec } from "./discovery.js";

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

/** A hash of 32 bits of a text (FNV-1a, mixed): the same on every platform and in every version. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/**
 * Returns the preference of one hash's holder for another, from 0 to below 1, by rendezvous hashing. Each holder keeps
 * its most preferred candidates when others come or go, and each candidate is preferred by equally many holders.
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

/** Selects the targets, out of many, to which a pool keeps sessions. */
export interface SubsetOptions {
  /** Number of targets of each priority with which sessions are kept. If none of them is usable, as many further ones are dialled. */
  readonly size: number;
  /**
   * A stable name of this client, such as the name of its pod, so that it selects the same targets again. Default: a
   * random one.
   */
  readonly client?: string;
}

/** Chooses, for one client, targets by rendezvous hashing: it keeps those it has when others come or go. */
export class Subset {
  private readonly size: number;
  private readonly client: number;

  constructor({ size, client = String(Math.random()) }: SubsetOptions) {
    this.size = size;
    this.client = hashOf(client);
  }

  /**
   * Returns the rank of each target. Within a priority, ranks 0 to `size - 1` are dialled first, then the next `size`.
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
