import type { CertificateFiles } from "./certificate.js";
import { messageOf, progress } from "./progress.js";
import type { Peer } from "./peers.js";
import { type Measurement, ProcessPair } from "./process-pair.js";
import { type Row, rowOf } from "./rows.js";
import type { Workload } from "./workloads.js";

export interface CompareOptions {
  readonly certificate: CertificateFiles;
  /** Number of measured rounds. */
  readonly rounds: number;
  /** Seconds that a contestant runs before it is measured: until its hot code is compiled and its heap has grown. */
  readonly warmUpSeconds: number;
  /** Milliseconds after which no further round begins, except the first `MIN_ROUNDS`. */
  readonly budgetMs: number;
}

/** Maximum seconds of a round of a slow contestant. */
const ROUND_SECONDS = 0.4;
/**
 * Share of a round that is run before it without being measured: while other contestants ran, V8 has shrunk the heap of
 * the idle process, and the caches are cold.
 */
const RUN_IN = 0.25;
/** A run of at least this many seconds has no run before it. */
const LONG_SECONDS = 1;
/** A median of fewer rounds is not meaningful. */
const MIN_ROUNDS = 3;

interface Entry {
  readonly peer: Peer;
  readonly pair: ProcessPair;
  readonly measured: Measurement[];
  amount: number;
  /** Whether a run is so long that its beginning hardly matters. */
  long: boolean;
  failed?: string;
}

/** Measures one workload: all contestants take turns, round by round. */
export async function compare(workload: Workload, peers: readonly Peer[], options: CompareOptions): Promise<Row[]> {
  const head = { workload: workload.name, unit: workload.unit };
  const rows: Row[] = [];
  const entries: Entry[] = [];
  try {
    for (const peer of peers.filter(({ joins }) => joins?.(workload.task) ?? true)) {
      progress(`${workload.name}: starting ${peer.name}`);
      try {
        const pair = await ProcessPair.start(peer, workload, options);
        if (pair !== undefined) entries.push({ peer, pair, measured: [], amount: workload.amount, long: false });
      } catch (error) {
        rows.push({ ...head, contestant: peer.name, rounds: 0, failed: messageOf(error) });
      }
    }
    for (const entry of entries) {
      progress(`${workload.name}: warming up ${entry.peer.name}`);
      await guarded(entry, () => warmUp(workload, entry, options.warmUpSeconds));
    }
    const began = performance.now();
    for (let round = 0; round < options.rounds; round++) {
      if (round >= MIN_ROUNDS && performance.now() - began > options.budgetMs) break;
      progress(`${workload.name}: round ${round + 1}`);
      for (const entry of entries) {
        await guarded(entry, async () => {
          if (!entry.long) {
            await entry.pair.measure(workload.task, workload.fixed ? entry.amount : Math.ceil(entry.amount * RUN_IN));
          }
          entry.measured.push(await entry.pair.measure(workload.task, entry.amount));
        });
      }
    }
  } finally {
    progress();
    for (const { pair } of entries) pair.stop();
  }
  for (const { peer, measured, failed } of entries) {
    const named = { ...head, contestant: peer.name };
    rows.push(failed === undefined ? rowOf(named, measured) : { ...named, rounds: measured.length, failed });
  }
  return rows;
}

/** Warms a contestant up, and measures how much it does in a round's time. */
async function warmUp({ task, amount, fixed, warmUps }: Workload, entry: Entry, warmUpSeconds: number): Promise<void> {
  const sample = Math.ceil(amount / 50);
  if (!fixed) entry.amount = sample;
  for (let seconds = 0; seconds < warmUpSeconds * warmUps; ) {
    const measurement = await entry.pair.measure(task, entry.amount);
    seconds += measurement.seconds;
    entry.long = measurement.seconds > LONG_SECONDS;
    if (fixed) continue;
    const possible = Math.ceil((measurement.amount / measurement.seconds) * ROUND_SECONDS);
    entry.amount = Math.max(sample, Math.min(amount, possible));
  }
}

/** Runs a step; a contestant that fails once takes no further part. */
async function guarded(entry: Entry, step: () => Promise<void>): Promise<void> {
  if (entry.failed !== undefined) return;
  try {
    await step();
  } catch (error) {
    entry.failed = messageOf(error);
  }
}
