import type { CompareOptions } from "./compare.js";
import { isNearest, type Peer } from "./peers.js";
import type { Workload } from "./workloads.js";

type Pace = Omit<CompareOptions, "certificate">;

/** The pace of a run of all workloads: about a quarter of an hour with every contestant. */
const PACE: Pace = { rounds: 7, warmUpSeconds: 0.5, budgetMs: 40_000 };

/** Returns the contestants of a workload in such a run, all or the nearest, and its pace. */
export function planOf(
  workload: Workload,
  peers: readonly Peer[],
): { readonly peers: readonly Peer[]; readonly pace: Pace } {
  if (workload.everyone) return { peers, pace: PACE };
  return { peers: peers.filter(({ name }) => isNearest(name)), pace: { ...PACE, budgetMs: PACE.budgetMs / 2 } };
}
