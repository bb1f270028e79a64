import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { freePort } from "../../../scripts/free-port.mjs";
import { startProgram } from "../../../test/child-program.js";

/** How a server's process ends without a drain. */
export const ENDS = ["SIGKILL", "SIGINT", "process.exit", "an uncaught error"] as const;
export type Ending = (typeof ENDS)[number];

const PROGRAM: URL = new URL("./restarted-server.program.ts", import.meta.url);

/** Settings of a server of this module: where it listens, and who it is. */
export interface ServerSettings {
  /** Without a port: `quic://127.0.0.1`. */
  readonly url: string;
  readonly tls: { readonly cert: string; readonly key: string };
  /** 32 bytes in hexadecimal; nothing: the server's own default. */
  readonly secret?: string;
  /** Without one a port that stays free while no server listens at it. */
  readonly port?: number;
}

/** A server in a process of its own. */
export class ServerProcess {
  readonly port: number;
  private readonly child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
  }

  static async start(settings: ServerSettings): Promise<ServerProcess> {
    const port = settings.port ?? (await freePort());
    const { child } = await startProgram(PROGRAM, { ...settings, port });
    return new ServerProcess(child, port);
  }

  /** It goes on to exist and does nothing any more. */
  stop(): void {
    this.child.kill("SIGSTOP");
  }

  async end(how: Ending): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, "exit");
    if (how === "SIGKILL" || how === "SIGINT") this.child.kill(how);
    else this.child.send(how);
    await gone;
  }
}
