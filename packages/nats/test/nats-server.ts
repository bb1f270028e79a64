import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../scripts/free-port.mjs";

const built = fileURLToPath(new URL("../../../.cache/nats-server/nats-server", import.meta.url));

/** The NATS server of this machine; undefined where there is none. */
export const natsServer: string | undefined = [built, "nats-server"].find(
  (file) =>
    (file === "nats-server" || existsSync(file)) && isRecent(spawnSync(file, ["--version"], { encoding: "utf8" })),
);

/** Whether it is a server that JetStream's clients of today work with: 2.10 or later. */
function isRecent({ status, stdout }: { readonly status: number | null; readonly stdout: string }): boolean {
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(stdout) ?? [];
  return status === 0 && (Number(major) > 2 || Number(minor) >= 10);
}

/** Says what is missing, for tests that are skipped. */
export const WITHOUT_NATS = "it needs a NATS server of 2.10 or later: node scripts/nats-server.mjs";

/** A NATS server in a process, with its files in a folder of its own. */
export class NatsProcess {
  port = 0;
  private child: ChildProcess | undefined = undefined;
  private folder: string | undefined = undefined;

  get url(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Starts it, on the port that it had before. */
  async start(): Promise<void> {
    // It stays free while the server is away.
    if (this.port === 0) this.port = await freePort();
    this.folder ??= await mkdtemp(join(tmpdir(), "quicrpc-nats-"));
    const args = ["-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.folder];
    const child = spawn(natsServer ?? "nats-server", args, { stdio: ["ignore", "ignore", "pipe"] });
    this.child = child;
    let log = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr.on("data", (text: Buffer) => {
        log += text.toString();
        if (log.includes("Server is ready")) resolve();
      });
      child.once("exit", () => reject(new Error(`nats-server ended: ${log}`)));
    });
  }

  /** Ends its process at once. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    this.child = undefined;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async remove(): Promise<void> {
    await this.kill();
    if (this.folder !== undefined) await rm(this.folder, { recursive: true });
  }
}
