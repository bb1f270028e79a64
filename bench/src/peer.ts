// One end of a contestant, in a process of its own; `process-pair.ts` talks to it.
import { devCertificate } from "@quicrpc/node";
import type { Client } from "./contestant.js";
import { contestantNamed } from "./contestants/index.js";
import { workloadNamed } from "./workloads.js";

/** What a peer is asked. */
export type Command =
  | { readonly run: { readonly workload: string; readonly amount: number } }
  | { readonly usage: true };

/** CPU in microseconds since the process began, memory in MB at its highest. */
export interface Usage {
  readonly cpu: number;
  readonly peakMegabytes: number;
}

export interface Run extends Usage {
  readonly seconds: number;
  /** Of single calls, in ms; undefined where the workload is not made of calls. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined;
}

export type Answer =
  | { readonly ready: number }
  | { readonly cannot: true }
  | { readonly failed: string }
  | { readonly run: Run }
  | { readonly usage: Usage };

const [role, name, host = "127.0.0.1", port, workloadName] = process.argv.slice(2);
const contestant = contestantNamed(name);
const certificate = await devCertificate();

const clients: Client[] = [];
process.on("message", (command: Command) => void answer(command));
process.on("disconnect", () => process.exit());
if (role === "server") send({ ready: await contestant.serve(host, certificate) });
else send(await connect());

async function connect(): Promise<Answer> {
  const workload = workloadNamed(workloadName);
  for (let i = 0; i < workload.connections; i++)
    clients.push(await contestant.connect(host, Number(port), certificate));
  return clients.every((client) => workload.can(client)) ? { ready: 0 } : { cannot: true };
}

async function answer(command: Command): Promise<void> {
  if ("usage" in command) {
    send({ usage: usage() });
    return;
  }
  try {
    send({ run: await measure(command.run.workload, command.run.amount) });
  } catch (error) {
    send({ failed: String(error) });
  }
}

async function measure(workload: string, amount: number): Promise<Run> {
  const before = usage();
  const durations: number[] = [];
  const started = performance.now();
  await workloadNamed(workload).run(clients, amount, (ms) => durations.push(ms));
  const seconds = (performance.now() - started) / 1000;
  const { cpu, peakMegabytes } = usage();
  return { seconds, cpu: cpu - before.cpu, peakMegabytes, latency: quantiles(durations) };
}

function quantiles(durations: number[]): Run["latency"] {
  if (durations.length === 0) return undefined;
  const sorted = Float64Array.from(durations).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function usage(): Usage {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpu: userCPUTime + systemCPUTime, peakMegabytes: Math.round(maxRSS / 1024) };
}

function send(message: Answer): void {
  process.send?.(message);
}
