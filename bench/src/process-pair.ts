import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { Contestant } from "./contestant.js";
import type { Answer, Command, Run, Usage } from "./peer.js";
import type { Workload } from "./workloads.js";

/** What one run of a workload took. CPU is of both processes together. */
export interface Measurement extends Run {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly serverPeakMegabytes: number;
}

/** How a process of either side is started: pinned to a core here, in a network namespace elsewhere. */
export type Prefix = (role: "server" | "client", cores: readonly [number, number]) => readonly string[];

/** A contestant's server and client, each in a process. */
export class ProcessPair {
  private readonly server: ChildProcess;
  private readonly client: ChildProcess;
  private readonly workload: Workload;

  private constructor(server: ChildProcess, client: ChildProcess, workload: Workload) {
    this.server = server;
    this.client = client;
    this.workload = workload;
  }

  /** Undefined when the contestant cannot do the workload. */
  static async start(
    { name }: Contestant,
    workload: Workload,
    { prefix = pinnedToCores, host = "127.0.0.1" }: { prefix?: Prefix; host?: string } = {},
  ): Promise<ProcessPair | undefined> {
    const server = start(prefix("server", workload.cores), ["server", name, host]);
    const listening = await answerOf(server);
    if (!("ready" in listening)) throw new Error(`${name} does not serve`);
    const port = String(listening.ready);
    const client = start(prefix("client", workload.cores), ["client", name, host, port, workload.name]);
    const pair = new ProcessPair(server, client, workload);
    if ("ready" in (await answerOf(client))) return pair;
    pair.stop();
    return undefined;
  }

  async measure(amount: number = this.workload.amount): Promise<Measurement> {
    const before = await this.serverUsage();
    const answer = await ask(this.client, { run: { workload: this.workload.name, amount } });
    if (!("run" in answer)) throw new Error("failed" in answer ? answer.failed : "no answer to a run");
    const { run } = answer;
    const after = await this.serverUsage();
    return {
      ...run,
      perSecond: amount / run.seconds,
      cpuMicros: (run.cpu + after.cpu - before.cpu) / amount,
      serverPeakMegabytes: after.peakMegabytes,
    };
  }

  stop(): void {
    this.client.disconnect();
    this.server.disconnect();
  }

  private async serverUsage(): Promise<Usage> {
    const answer = await ask(this.server, { usage: true });
    if (!("usage" in answer)) throw new Error("no usage");
    return answer.usage;
  }
}

/**
 * Whether processes can be pinned to cores. Where the scheduler places the two ends decides a sequential call's time
 * within a factor of three (waking another core is dear, above all on virtual machines), and it changes its mind.
 */
export const pinned: boolean = cpus().length >= 2 && spawnSync("taskset", ["-c", "0,1", "true"]).status === 0;

const pinnedToCores: Prefix = (role, [server, client]) =>
  pinned ? ["taskset", "-c", String(role === "server" ? server : client)] : [];

function start(prefix: readonly string[], args: readonly string[]): ChildProcess {
  const peer = [process.execPath, fileURLToPath(new URL("peer.js", import.meta.url)), ...args];
  const [command = "", ...rest] = [...prefix, ...peer];
  return spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

function ask(peer: ChildProcess, command: Command): Promise<Answer> {
  const answer = answerOf(peer);
  peer.send(command);
  return answer;
}

function answerOf(peer: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a peer ended with code ${code}`));
    peer.once("exit", onExit);
    peer.once("message", (answer: Answer) => {
      peer.off("exit", onExit);
      resolve(answer);
    });
  });
}
