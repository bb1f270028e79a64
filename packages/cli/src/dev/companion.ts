import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Milliseconds after a signal when a process is killed. */
export const KILL_MS = 3000;

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));

/** Output streams of a child process: its output goes to stderr if stdout carries JSON. */
export function outputOf(json: boolean): ("inherit" | number)[] {
  return ["inherit", json ? 2 : "inherit", "inherit"];
}

/** Settings of a command that runs next to the program. */
export interface CompanionOptions {
  readonly cwd: string;
  readonly json: boolean;
  /** Port at which clients reach the program. */
  readonly port: number;
  /**
   * Called when it has ended by itself: with its exit code, null after a signal, or the error if it could not be
   * started.
   */
  readonly onEnd: (result: number | null | Error) => void;
}

/** A process next to the program: a page's development server, or the studio. */
export class CompanionProcess {
  private readonly child: ChildProcess;
  private isEnding = false;

  private constructor(child: ChildProcess, onEnd: CompanionOptions["onEnd"]) {
    this.child = child;
    child.on("error", onEnd);
    child.on("exit", (code) => {
      if (!this.isEnding) onEnd(code);
    });
  }

  /**
   * Starts a command of the project, such as `vite`. Vite pages read the port from `import.meta.env.VITE_QUICRPC_PORT`.
   */
  static command(
    [command = "", ...args]: readonly string[],
    { cwd, json, port, onEnd }: CompanionOptions,
  ): CompanionProcess {
    const path = [join(cwd, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
    const env = { ...process.env, VITE_QUICRPC_PORT: String(port), PATH: path };
    const child = spawn(command, args, { cwd, env, stdio: outputOf(json), shell: process.platform === "win32" });
    return new CompanionProcess(child, onEnd);
  }

  /**
   * Starts the studio for a server. Returns undefined if `@quicrpc/studio` is not installed. Calls `onPage` with the
   * page's address.
   */
  static studio(url: string, cwd: string, onPage: (page: string) => void): CompanionProcess | undefined {
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
    return new CompanionProcess(child, (result) => {
      if (result instanceof Error) process.stderr.write(`${result.message}\n`);
    });
  }

  /** Asks the process to end, and kills it after `KILL_MS`. */
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
