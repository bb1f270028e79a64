import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds after which a process that has ended is started again. */
const RESTART_MS = 1000;

/** Options of a process. */
export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Pattern of the line that it prints when it is ready. */
  readonly ready?: RegExp;
  /** Whether it is started again when it ends by itself. */
  readonly restarts?: boolean;
}

/** A process of the cluster, which reports its state. */
export class Child {
  /** Text matched by the group of `ready`. */
  said: string | undefined;
  private readonly name: string;
  private readonly command: string;
  private readonly args: readonly string[];
  private readonly options: ChildOptions;
  private child: ChildProcess | undefined;
  private ending = false;

  private constructor(name: string, command: string, args: readonly string[], options: ChildOptions) {
    this.name = name;
    this.command = command;
    this.args = args;
    this.options = options;
  }

  /** Returns the command if it can be run. */
  static find(command: string, args: readonly string[]): string | undefined {
    return spawnSync(command, args).status === 0 ? command : undefined;
  }

  /** Resolves when the process is ready. */
  static async start(name: string, command: string, args: readonly string[], options: ChildOptions): Promise<Child> {
    const child = new Child(name, command, args, options);
    await child.run();
    return child;
  }

  get isRunning(): boolean {
    return this.child !== undefined;
  }

  /** Ends the process at once, like a power failure. */
  kill(): void {
    if (this.child === undefined) return;
    console.log(`${this.name} is killed`);
    this.child.kill("SIGKILL");
  }

  /** Ends the process for good. */
  async end(): Promise<void> {
    this.ending = true;
    const { child } = this;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  private async run(): Promise<void> {
    const { env = {}, ready } = this.options;
    const child = spawn(this.command, this.args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    let output = "";
    let isReady = false;
    await new Promise<void>((resolve, reject) => {
      const hear = (text: Buffer): void => {
        output = (output + String(text)).slice(-10_000);
        const found = ready?.exec(output);
        if (!found) return;
        this.said = found[1];
        isReady = true;
        resolve();
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        this.child = undefined;
        reject(new Error(`${this.name} has ended (${signal ?? code}): ${output}`));
        if (isReady && !this.ending) void this.ended(signal ?? code);
      });
      if (ready !== undefined) return;
      isReady = true;
      resolve();
    });
    console.log(`${this.name} runs: process ${child.pid}`);
  }

  private async ended(why: string | number | null): Promise<void> {
    console.log(`${this.name} has ended: ${why}`);
    while (this.options.restarts === true && !this.isRunning) {
      await pause(RESTART_MS);
      if (this.ending) return;
      await this.run().catch((error: unknown) => console.error(String(error)));
    }
  }
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

/** Resolves when a process listens there; rejects when `by`, which should, has ended. */
export async function listens(host: string, port: number, by: Child): Promise<void> {
  for (;;) {
    const socket = connect(port, host);
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "close").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    if (!by.isRunning) throw new Error(`nobody listens on port ${port}: is it taken?`);
    await pause(50);
  }
}
