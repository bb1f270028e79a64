import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../examples/whiteboard/dist/main.js", import.meta.url));

/** The example's server, in a process of its own, always on the same ports and with the same files. */
export class WhiteboardServer {
  readonly url: string;
  private readonly env: NodeJS.ProcessEnv;
  private child: ChildProcess | undefined;

  private readonly folder: string;

  private constructor(port: number, pagePort: number, folder: string) {
    this.url = `http://localhost:${pagePort}/`;
    this.folder = folder;
    this.env = { ...process.env, PORT: String(port), PAGE_PORT: String(pagePort), DATA: folder };
  }

  static async start(): Promise<WhiteboardServer> {
    const [port, pagePort] = await freePorts();
    const server = new WhiteboardServer(port, pagePort, await mkdtemp(join(tmpdir(), "quicrpc-whiteboard-")));
    await server.restart();
    return server;
  }

  async restart(): Promise<void> {
    const child = spawn(process.execPath, [main], { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (text) => (errors += String(text)));
    this.child = child;
    const said = once(createInterface({ input: child.stdout }), "line");
    await Promise.race([
      said,
      once(child, "close").then(([code]) => Promise.reject(new Error(`it ended with ${code}: ${errors}`))),
    ]);
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** The exit code, or else the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined) return 0;
    const ended = once(child, "exit") as Promise<[number | null, string]>;
    child.kill(signal);
    const [code, by] = await ended;
    return code ?? by;
  }

  /** Ends it, and removes its files. */
  async remove(): Promise<void> {
    await this.end("SIGKILL");
    await rm(this.folder, { recursive: true });
  }
}

/** Two ports that were free a moment ago. */
export async function freePorts(): Promise<[number, number]> {
  const servers = [createServer().listen(0, "127.0.0.1"), createServer().listen(0, "127.0.0.1")] as const;
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports as [number, number];
}
