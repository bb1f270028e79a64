import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether there is a `redis-server` or a `valkey-server`; the tests that need one say so where not. */
export const SERVER: string | undefined = ["redis-server", "valkey-server"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

/** A server of Redis of its own, on a Unix socket, which writes each command to disk before it answers. */
export class RedisServer {
  readonly socket: string;
  private readonly folder: string;
  private process: ChildProcess | undefined = undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.socket = join(folder, "redis.sock");
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await mkdtemp(join(tmpdir(), "quicrpc-redis-")));
    await server.run();
    return server;
  }

  /** Starts it, or starts it again with what it has written. */
  async run(): Promise<void> {
    const disk = ["--dir", this.folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
    const options = ["--port", "0", "--unixsocket", this.socket, ...disk];
    const child = spawn(SERVER ?? "redis-server", options, { stdio: ["ignore", "pipe", "inherit"] });
    this.process = child;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      // It is read on after that: what nobody reads would stop it.
      child.stdout.on("data", (chunk) => {
        said = `${said}${String(chunk)}`.slice(-4000);
        if (said.includes("eady to accept connections")) resolve();
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`redis-server did not start: ${said}`)));
    });
  }

  /** Kills it, started or not. */
  async kill(): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
