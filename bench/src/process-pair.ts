import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { Contestant } from "./contestant.js";
import type { Answer, Command } from "./peer.js";

/** What one run of a workload took. CPU is of both processes together. */
export interface Measurement {
  readonly callsPerSecond: number;
  readonly cpuMicrosPerCall: number;
}

/** A contestant's server and client, each in a process. */
export class ProcessPair {
  private readonly server: ChildProcess;
  private readonly client: ChildProcess;

  private constructor(server: ChildProcess, client: ChildProcess) {
    this.server = server;
    this.client = client;
  }

  /** @param cores of server and client, where processes can be pinned */
  static async start({ name }: Contestant, cores: readonly [number, number]): Promise<ProcessPair> {
    const server = start(cores[0], ["server", name]);
    const { ready: port } = (await answerOf(server)) as { ready: number };
    const client = start(cores[1], ["client", name, String(port)]);
    await answerOf(client);
    return new ProcessPair(server, client);
  }

  async measure(calls: number, inFlight: number): Promise<Measurement> {
    const before = await this.serverCpu();
    const answer = ask(this.client, { run: { calls, inFlight } });
    const { seconds, cpu } = (await answer) as { seconds: number; cpu: number };
    const serverCpu = (await this.serverCpu()) - before;
    return { callsPerSecond: calls / seconds, cpuMicrosPerCall: (cpu + serverCpu) / calls };
  }

  stop(): void {
    this.client.disconnect();
    this.server.disconnect();
  }

  private async serverCpu(): Promise<number> {
    return ((await ask(this.server, { cpu: true })) as { cpu: number }).cpu;
  }
}

/**
 * Whether processes can be pinned to cores. Where the scheduler places the two ends decides a sequential call's time
 * within a factor of three (waking another core is dear, above all on virtual machines), and it changes its mind.
 */
export const pinned: boolean = cpus().length >= 2 && spawnSync("taskset", ["-c", "0,1", "true"]).status === 0;

function start(core: number, args: string[]): ChildProcess {
  const node = [process.execPath, fileURLToPath(new URL("peer.js", import.meta.url)), ...args];
  const [command = "", ...rest] = pinned ? ["taskset", "-c", String(core), ...node] : node;
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
