import type { CertificateFiles } from "./certificate.js";
import { ADDRESS, Link, type LinkSettings } from "./link.js";
import { type Quartiles, quartiles } from "./median.js";
import type { Peer } from "./peers.js";
import { type Prefix, ProcessPair } from "./process-pair.js";
import { messageOf, progress } from "./progress.js";
import { round } from "./rows.js";
import { farWorkloads, slowWorkload, type Workload } from "./workloads.js";

/** One contestant in one workload on one link: times of a round in ms, and packets dropped by the queue. */
export interface FarRow {
  readonly link: string;
  readonly workload: string;
  readonly contestant: string;
  readonly rounds: number;
  readonly meanMs?: number;
  readonly quartilesMs?: Quartiles;
  readonly p95Ms?: number;
  readonly droppedPercent?: number;
  /** Percent of all calls. */
  readonly errors?: number;
  readonly failed?: string;
}

export interface FarOptions {
  readonly certificate: CertificateFiles;
  readonly rounds: number;
  /** Round trip in ms. */
  readonly rtt: number;
  /** Milliseconds after which no further round of a workload begins, except the first three. */
  readonly budgetMs: number;
  /** Selects workloads and links by name. Default: all. */
  readonly chosen?: (name: string) => boolean;
}

/** A link and its workloads. */
export interface FarLink {
  readonly name: string;
  readonly settings: LinkSettings;
  readonly workloads: readonly Workload[];
}

/** Returns a link with one round-trip time. */
export function far(
  rtt: number,
  name: string,
  settings: LinkSettings,
  workloads: readonly Workload[] = farWorkloads,
): FarLink {
  return { name: `${rtt} ms, ${name}`, settings: { delay: rtt / 2, ...settings }, workloads };
}

function links(rtt: number): FarLink[] {
  return [
    far(rtt, "0% lost", {}),
    far(rtt, "1% lost", { loss: 1 }),
    far(rtt, "3% lost", { loss: 3 }),
    far(rtt, "3% lost in bursts of 3", { loss: 3, burst: 3 }),
    far(rtt, "20 Mbit/s, queue of 50 packets", { rate: 20, queue: 50 }, [slowWorkload]),
  ];
}

const MIN_ROUNDS = 3;
/** Milliseconds that each workload runs over each link before it is measured. */
const WARM_UP_MS = 1000;
const CLEAR: LinkSettings = { loss: 0, burst: 1, rate: 0, queue: 1000 };

/** Runs every contestant over every link. The link loses the same packets for each. */
export async function overLinks(
  peers: readonly Peer[],
  options: FarOptions,
  over: readonly FarLink[] = links(options.rtt),
): Promise<FarRow[]> {
  const rows: FarRow[] = [];
  const carrier = await Link.up({ delay: options.rtt / 2 });
  try {
    for (const link of over) {
      const workloads = link.workloads.filter(({ name }) => options.chosen?.(`${link.name}: ${name}`) ?? true);
      const found: FarRow[] = [];
      for (const peer of peers) found.push(...(await overLink(carrier, link, workloads, peer, options)));
      for (const { name } of workloads) rows.push(...found.filter(({ workload }) => workload === name));
    }
  } finally {
    progress();
    carrier.down();
  }
  return rows;
}

/** Runs all workloads of one contestant in the same processes and on the same connection, as a client would. */
async function overLink(
  over: Link,
  link: FarLink,
  workloads: readonly Workload[],
  peer: Peer,
  { certificate, rounds, budgetMs, rtt }: FarOptions,
): Promise<FarRow[]> {
  const rows: FarRow[] = [];
  let pair: ProcessPair | undefined;
  for (const workload of workloads) {
    const { task, amount, name } = workload;
    if (peer.joins?.(task) === false) continue;
    progress(`${link.name}: ${name}: ${peer.name}`);
    const head = { link: link.name, workload: name, contestant: peer.name };
    try {
      over.set({ ...CLEAR, delay: rtt / 2 });
      if (pair === undefined) {
        const prefix: Prefix = (role) => over.at(role === "server" ? "a" : "b");
        pair = await ProcessPair.start(peer, workload, { certificate, prefix, host: ADDRESS });
      } else if (!(await pair.prepare(workload))) continue;
      if (pair === undefined) continue;
      await pair.measure(task, amount);
      const settings = { ...CLEAR, ...link.settings, seed: 7 };
      over.set(settings);
      const warm = performance.now() + WARM_UP_MS;
      while (performance.now() < warm) await pair.measure(task, amount);
      // The same losses for all, however much they did until here.
      over.set(settings);
      over.traffic();
      const began = performance.now();
      const times: number[] = [];
      let errors = 0;
      while (times.length < rounds && (times.length < MIN_ROUNDS || performance.now() - began < budgetMs)) {
        const one = await pair.measure(task, amount);
        times.push(one.seconds * 1000);
        errors += one.errors;
      }
      const { ab, ba } = over.traffic();
      const [low, high] = quartiles(times);
      rows.push({
        ...head,
        rounds: times.length,
        meanMs: round(times.reduce((sum, time) => sum + time, 0) / times.length, 1),
        quartilesMs: [round(low, 1), round(high, 1)],
        p95Ms: round(times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN, 1),
        droppedPercent: round((100 * (ab.dropped + ba.dropped)) / (ab.seen + ba.seen), 2),
        errors: round((100 * errors) / (times.length * amount), 2),
      });
    } catch (error) {
      rows.push({ ...head, rounds: 0, failed: messageOf(error) });
      pair?.stop();
      pair = undefined;
    }
  }
  pair?.stop();
  return rows;
}

/** Returns a Markdown table for each link and workload. */
export function farTables(rows: readonly FarRow[]): string {
  const heads = [...new Set(rows.map(({ link, workload }) => `${link}: ${workload}`))];
  return heads
    .map((head) => {
      const lines = rows
        .filter(({ link, workload }) => `${link}: ${workload}` === head)
        .map(({ contestant, rounds, meanMs, p95Ms, droppedPercent, errors, failed }) =>
          failed === undefined
            ? `| ${contestant} | ${meanMs} | ${p95Ms} | ${rounds} | ${droppedPercent}% | ${errors === 0 ? "" : `${errors}%`} |`
            : `| ${contestant} | failed: ${failed} | | | | |`,
        );
      return [
        `**${head}**\n`,
        "| | mean ms | p95 ms | rounds | dropped by the queue | errors |",
        "|---|---:|---:|---:|---:|---:|",
        ...lines,
      ].join("\n");
    })
    .join("\n\n");
}
