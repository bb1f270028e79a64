import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../../scripts/free-port.mjs";

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
    const server = new WhiteboardServer(
      await freePort(),
      await freePort(),
      await mkdtemp(join(tmpdir(), "quicrpc-whiteboard-")),
    );
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
