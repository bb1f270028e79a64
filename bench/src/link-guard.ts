import { far, type FarOptions, overLinks } from "./far.js";
import type { Peer } from "./peers.js";
import { farBatches } from "./workloads.js";

/** Maximum ratio of the time of a batch of calls with 3% packet loss to that without loss. */
const MOST = 1.1;

/** Ratio of each batch's time with loss to that without; undefined if it failed. */
export interface Held {
  readonly name: string;
  readonly clearMs: number | undefined;
  readonly lostMs: number | undefined;
  readonly ratio: number | undefined;
  readonly good: boolean;
}

/** Measures batches of calls with and without loss, on a fast link and on one with a rate limit. */
export async function holdOverLoss(peer: Peer, options: FarOptions): Promise<Held[]> {
  const rates = [
    ["", {}],
    [", 100 Mbit/s", { rate: 100, queue: 200 }],
  ] as const;
  const links = rates.flatMap(([name, rate]) => [
    far(options.rtt, `0% lost${name}`, rate, farBatches),
    far(options.rtt, `3% lost${name}`, { ...rate, loss: 3 }, farBatches),
  ]);
  const rows = await overLinks([peer], options, links);
  return rates.flatMap(([name]) =>
    farBatches.map((batch) => {
      const meanOf = (lost: string): number | undefined =>
        rows.find((row) => row.workload === batch.name && row.link.endsWith(`${lost} lost${name}`))?.meanMs;
      const [clearMs, lostMs] = [meanOf("0%"), meanOf("3%")];
      const ratio = clearMs === undefined || lostMs === undefined ? undefined : lostMs / clearMs;
      return { name: `${batch.name}${name}`, clearMs, lostMs, ratio, good: ratio !== undefined && ratio <= MOST };
    }),
  );
}
