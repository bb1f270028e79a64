import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Milliseconds that a process has to end after a signal before it is killed. */
export const KILL_MS = 3000;

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));

/** The streams of a process that is started: what it prints goes to stderr where stdout has JSON. */
export function outputOf(json: boolean): ("inherit" | number)[] {
  return ["inherit", json ? 2 : "inherit", "inherit"];
}

/** Settings of a command that runs beside the program. */
export interface BesideOptions {
  readonly cwd: string;
  readonly json: boolean;
  /** The port at which clients find the program. */
  readonly port: number;
  /** Called when it has ended by itself: with its exit code, null after a signal, or why it could not be started. */
  readonly onEnd: (how: number | null | Error) => void;
}

/** A process beside the program: a page's development server, or the studio. */
export class Beside {
  private readonly child: ChildProcess;
  private isEnding = false;

  private constructor(child: ChildProcess, onEnd: BesideOptions["onEnd"]) {
    this.child = child;
    child.on("error", onEnd);
    child.on("exit", (code) => {
      if (!this.isEnding) onEnd(code);
    });
  }

  /** Starts a command of the project, such as `vite`. Pages of Vite find the port as `import.meta.env.VITE_QUICRPC_PORT`. */
  static command([command = "", ...args]: readonly string[], { cwd, json, port, onEnd }: BesideOptions): Beside {
    const path = [join(cwd, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
    const env = { ...process.env, VITE_QUICRPC_PORT: String(port), PATH: path };
    const child = spawn(command, args, { cwd, env, stdio: outputOf(json), shell: process.platform === "win32" });
    return new Beside(child, onEnd);
  }

  /** Starts the studio for a server; undefined where `@quicrpc/studio` is not installed. `onPage` is called with the page's address. */
  static studio(url: string, cwd: string, onPage: (page: string) => void): Beside | undefined {
    const isInstalled = [join(cwd, "package.json"), MAIN].some((from) => {
      try {
        return createRequire(from).resolve("@quicrpc/studio/package.json") !== "";
      } catch {
        return false;
      }
    });
    if (!isInstalled) return undefined;
    const child = spawn(process.execPath, [MAIN, "studio", url, "--dev"], {
      cwd,
      stdio: ["inherit", "pipe", "inherit"],
    });
    createInterface(child.stdout).once("line", onPage);
    return new Beside(child, (how) => {
      if (how instanceof Error) process.stderr.write(`${how.message}\n`);
    });
  }

  /** Asks it to end, and kills it where it does not. */
  async end(): Promise<void> {
    this.isEnding = true;
    const { child } = this;
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), KILL_MS);
    await exit;
    clearTimeout(timer);
  }
}
