import type { CertificateFiles } from "./certificate.js";
import { methodsOf } from "./many-methods.js";
import type { Peer } from "./peers.js";
import { ProcessPair } from "./process-pair.js";
import { messageOf, progress } from "./progress.js";
import type { Task } from "./protocol.js";
import { CAPNP, FLOOR, GRPC_GO, GRPC_JS } from "./report/results.js";
import { round } from "./rows.js";
import { workload } from "./workloads.js";

/** Time and memory of a number of objects (calls, streams, sessions), in processes that have only warmed up before. */
export interface GrowthRow {
  readonly of: "calls" | "open streams" | "idle sessions" | "methods";
  readonly contestant: string;
  readonly count: number;
  /** Total seconds. */
  readonly seconds?: number;
  readonly microsEach?: number;
  /** Resident memory after a garbage collection, in KiB for each. For open streams: at the peak. */
  readonly clientKilobytes?: number;
  readonly serverKilobytes?: number;
  readonly failed?: string;
}

const TIMES = [1, 10, 100] as const;
/** Number of objects that warm up the code paths and buffers that later ones share. */
const WARM_UP = 64;
/** Milliseconds after which acknowledgements and timers of new connections have finished. */
const SETTLE_MS = 1_000;

/**
 * Measures calls, streams, sessions and methods, at 10 and 100 times the number. Sessions of other libraries are for
 * comparison.
 */
export async function growth(peers: readonly Peer[], certificate: CertificateFiles): Promise<GrowthRow[]> {
  const rows: GrowthRow[] = [];
  const grow = async (of: GrowthRow["of"], peer: Peer, counts: readonly number[], task: (count: number) => Task) => {
    for (const count of counts) {
      progress(`growth: ${count} ${of}, ${peer.name}`);
      rows.push(await measure(of, peer, count, task(count), certificate));
    }
  };
  for (const peer of peers.filter(({ name }) => name === "quicrpc")) {
    await grow("calls", peer, counts(1_000), () => ({ do: "multiply", inFlight: 64 }));
  }
  for (const peer of peers.filter(({ name }) => name === "quicrpc, stream per call")) {
    await grow("open streams", peer, counts(100), (count) => ({ do: "wait", inFlight: count, ms: 100 }));
  }
  for (const peer of peers.filter(({ name }) => SESSIONS.has(name))) {
    await grow("idle sessions", peer, THOUSANDS.has(peer.name) ? counts(100) : [1_000], () => ({ do: "idle" }));
  }
  progress();
  if (peers.some(({ name }) => name === "quicrpc")) for (const count of counts(10)) rows.push(await methodsOf(count));
  return rows;
}

const THOUSANDS = new Set(["quicrpc"]);
const SESSIONS = new Set([...THOUSANDS, "quicrpc, WebTransport", "quicrpc, tls://", FLOOR, GRPC_JS, GRPC_GO, CAPNP]);

function counts(least: number): number[] {
  return TIMES.map((times) => times * least);
}

async function measure(
  of: GrowthRow["of"],
  peer: Peer,
  count: number,
  task: Task,
  certificate: CertificateFiles,
): Promise<GrowthRow> {
  const head = { of, contestant: peer.name, count };
  const plan = workload(of, count, task, { fixed: true });
  let pair: ProcessPair | undefined;
  try {
    pair = await ProcessPair.start(peer, plan, { certificate });
    if (pair === undefined) throw new Error("it cannot");
    const { client, server } = pair;
    await pair.measure("inFlight" in task ? { ...task, inFlight: WARM_UP } : task, WARM_UP);
    const peak = of === "open streams";
    const how = { collect: true, grown: !peak };
    const before = [await client.usage(how), await server.usage(how)] as const;
    const { seconds, errors } = await pair.measure(task, count);
    if (errors > 0) throw new Error(`${errors} of ${count} failed`);
    if (!peak) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const after = [await client.usage(how), await server.usage(how)] as const;
    const kilobytesEach = (end: 0 | 1): number => {
      const now = peak ? after[end].peakMegabytes : after[end].megabytes;
      return round(Math.max(0, ((now - before[end].megabytes) * 1024) / count), 2);
    };
    return {
      ...head,
      seconds: round(seconds, 3),
      microsEach: round((seconds * 1e6) / count, 1),
      clientKilobytes: kilobytesEach(0),
      serverKilobytes: kilobytesEach(1),
    };
  } catch (error) {
    return { ...head, failed: messageOf(error) };
  } finally {
    pair?.stop();
  }
}

/** A Markdown table. */
export function growthTable(rows: readonly GrowthRow[]): string {
  const lines = rows.map(({ of, contestant, count, seconds, microsEach, clientKilobytes, serverKilobytes, failed }) =>
    failed === undefined
      ? `| ${count.toLocaleString("en")} ${of} | ${contestant} | ${seconds} | ${microsEach} | ${clientKilobytes} / ${serverKilobytes} |`
      : `| ${count.toLocaleString("en")} ${of} | ${contestant} | failed: ${failed} | | |`,
  );
  return ["| | | seconds | µs each | KiB each, client / server |", "|---|---|---:|---:|---:|", ...lines].join("\n");
}
