import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { natsServer } from "../../packages/nats/test/nats-server.js";
import { freePort } from "../../scripts/free-port.mjs";

const main = fileURLToPath(new URL("../../examples/whiteboard/dist/cluster.js", import.meta.url));

/** Returns what the cluster lacks on this machine; undefined if it can run. */
export function lackOfCluster(): string | undefined {
  if (natsServer === undefined) return "it needs a NATS server of 2.10 or later: node scripts/nats-server.mjs";
  if (spawnSync("haproxy", ["-v"]).status !== 0) return "it needs HAProxy: apt-get install haproxy";
  return undefined;
}

/** Runs `npm start cluster` in its own process, whose servers are killed only by the test. */
export class Cluster {
  readonly url: string;
  private readonly child: ChildProcess;
  /** All that it has said. */
  private output = "";
  private readonly waiting: Set<() => void> = new Set();

  private constructor(port: number, pagePort: number) {
    this.url = `http://localhost:${pagePort}/`;
    const env = { ...process.env, PORT: `${port}`, PAGE_PORT: `${pagePort}`, KILL_EVERY_MS: "0" };
    this.child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "pipe"] });
    const hear = (text: Buffer): void => {
      this.output += String(text);
      this.tell();
    };
    this.child.stdout?.on("data", hear);
    this.child.stderr?.on("data", hear);
    this.child.once("exit", () => this.tell());
  }

  static async start(): Promise<Cluster> {
    const cluster = new Cluster(await freePort(), await freePort());
    await cluster.says(/The whiteboard is at/g, 1);
    return cluster;
  }

  /** Kills a server, "a" or "b", as a power cut does, once `last` is done: of that it answers nothing. */
  async kill(name: string, last: () => Promise<void>): Promise<void> {
    const runs = [...this.output.matchAll(new RegExp(`server ${name} runs: process (\\d+)`, "g"))];
    const pid = Number(runs.at(-1)?.[1]);
    process.kill(pid, "SIGSTOP");
    await last();
    process.kill(pid, "SIGKILL");
    await this.says(new RegExp(`server ${name} has ended: SIGKILL`, "g"), runs.length);
  }

  /** Resolves when the server has been started so often. */
  async runs(name: string, times: number): Promise<void> {
    await this.says(new RegExp(`server ${name} runs: process`, "g"), times);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGTERM");
    await ended;
  }

  private async says(what: RegExp, times: number): Promise<void> {
    while ([...this.output.matchAll(what)].length < times) {
      if (this.child.exitCode !== null) throw new Error(`the cluster has ended: ${this.output}`);
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  private tell(): void {
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }
}
