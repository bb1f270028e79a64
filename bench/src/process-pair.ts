import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import type { CertificateFiles } from "./certificate.js";
import type { Peer } from "./peers.js";
import { PeerProcess } from "./peer-process.js";
import { HELD_MEGABYTES, type Run, type Task, type Usage } from "./protocol.js";
import type { Workload } from "./workloads.js";

/** Result of one run of a workload; `cpu` and memory are the client's. */
export interface Measurement extends Run {
  readonly amount: number;
  /** Microseconds for each of `amount`. */
  readonly clientCpu: number;
  readonly serverCpu: number;
  readonly serverPeakMegabytes: number;
}

/** Prefix of the command that starts a process of either side: pinned to a core, or in a network namespace. */
export type Prefix = (role: "server" | "client", cores: readonly [number, number]) => readonly string[];

export interface PairOptions {
  readonly certificate: CertificateFiles;
  readonly prefix?: Prefix;
  readonly host?: string;
}

/** A contestant's server and client, each in its own process. */
export class ProcessPair {
  readonly server: PeerProcess;
  readonly client: PeerProcess;

  private constructor(server: PeerProcess, client: PeerProcess) {
    this.server = server;
    this.client = client;
  }

  /** Resolves with undefined if the contestant does not support the workload. */
  static async start(
    peer: Peer,
    workload: Workload,
    { certificate, prefix = pinnedToCores, host = "127.0.0.1" }: PairOptions,
  ): Promise<ProcessPair | undefined> {
    const { cert, key } = certificate;
    const held = workload.heldMegabytes > 0 ? ["env", `${HELD_MEGABYTES}=${workload.heldMegabytes}`] : [];
    const start = (role: "server" | "client", ...args: string[]): Promise<[PeerProcess, number]> =>
      PeerProcess.start([...prefix(role, workload.cores), ...held, ...peer.command, role, host, ...args]);
    const [server, port] = await start("server", cert, key);
    let client: PeerProcess | undefined;
    try {
      [client] = await start("client", String(port), cert);
      const pair = new ProcessPair(server, client);
      if (await pair.prepare(workload)) return pair;
      pair.stop();
      return undefined;
    } catch (error) {
      client?.stop();
      server.stop();
      throw error;
    }
  }

  /** Opens the connections that a workload needs. Returns whether the contestant supports it. */
  async prepare({ task, connections }: Workload): Promise<boolean> {
    const answer = await this.client.ask({ prepare: task, connections });
    if ("failed" in answer) throw new Error(answer.failed);
    return "ready" in answer;
  }

  async measure(task: Task, amount: number): Promise<Measurement> {
    const before = await this.server.usage();
    const answer = await this.client.ask({ run: task, amount });
    if (!("run" in answer)) throw new Error("failed" in answer ? answer.failed : "no answer to a run");
    const { run } = answer;
    if (run.errors >= amount) throw new Error("every call failed");
    const after: Usage = await this.server.usage();
    return {
      ...run,
      amount,
      clientCpu: run.cpu / amount,
      serverCpu: (after.cpu - before.cpu) / amount,
      serverPeakMegabytes: after.peakMegabytes,
    };
  }

  stop(): void {
    this.client.stop();
    this.server.stop();
  }
}

/**
 * Whether processes can be pinned to cores. Otherwise the scheduler's placement of the two ends changes the time of a
 * sequential call up to threefold, because waking another core is expensive, especially on virtual machines.
 */
export const pinned: boolean = cpus().length >= 2 && spawnSync("taskset", ["-c", "0,1", "true"]).status === 0;

const pinnedToCores: Prefix = (role, [server, client]) =>
  pinned ? ["taskset", "-c", String(role === "server" ? server : client)] : [];
