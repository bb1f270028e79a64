/** What a balancer sees of a target. */
export interface BalancedTarget {
  /** As it was given, such as a URL. */
  readonly target: string;
  /** Calls of this pool in progress on it. */
  readonly calls: number;
}

/** Chooses where the next call goes: one of `targets`, of which there is at least one. Every one of them takes calls now. */
export type Balance = <T extends BalancedTarget>(targets: readonly T[]) => T;

/** The ways to balance that have a name. */
export type BalanceName = "roundRobin" | "leastLoaded" | "powerOfTwo";

/** A balancer of a pool's own. */
export function balancer(balance: BalanceName | Balance): Balance {
  switch (balance) {
    case "roundRobin":
      return roundRobin();
    case "leastLoaded":
      return leastLoaded;
    case "powerOfTwo":
      return powerOfTwo;
    default:
      return balance;
  }
}

/** Each in turn. */
function roundRobin(): Balance {
  let next = 0;
  return (targets) => {
    if (next >= targets.length) next = 0;
    return targets[next++] as (typeof targets)[number];
  };
}

/** The one with the fewest calls in progress; of equals a random one, or all clients would choose the first. */
const leastLoaded: Balance = (targets) => {
  const start = random(targets.length);
  let best = targets[start] as (typeof targets)[number];
  for (let i = 1; i < targets.length; i++) {
    const target = targets[(start + i) % targets.length] as (typeof targets)[number];
    if (target.calls < best.calls) best = target;
  }
  return best;
};

/**
 * The better of two random ones. Almost as even as the least loaded, at a constant price, and many clients with the same
 * view do not all run to the same target.
 */
const powerOfTwo: Balance = (targets) => {
  const { length } = targets;
  const first = random(length);
  const one = targets[first] as (typeof targets)[number];
  if (length === 1) return one;
  const other = targets[(first + 1 + random(length - 1)) % length] as (typeof targets)[number];
  return other.calls < one.calls ? other : one;
};

function random(below: number): number {
  return Math.floor(Math.random() * below) % below;
}
