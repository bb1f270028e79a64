import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Milliseconds that a process has to end after a signal, before it is killed. */
export const KILL_MS = 3000;

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));

/**
 * Returns the destinations of a child process's stdout and stderr. Its stdout goes to stderr if this command writes
 * JSON to stdout.
 */
export function outputOf(json: boolean): ("inherit" | number)[] {
  return ["inherit", json ? 2 : "inherit", "inherit"];
}

export interface CompanionOptions {
  readonly cwd: string;
  readonly json: boolean;
  /** Port at which clients reach the program's server. */
  readonly port: number;
  /**
   * Called when the command has ended by itself: with its exit code, with null after a signal, or with the error if it
   * could not be started.
   */
  readonly onEnd: (result: number | null | Error) => void;
}

/** A process that `quicrpc dev` runs next to the program: the development server of a web page, or the studio. */
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
   * Starts a command of the project, such as `vite`. Vite pages read the program's port from
   * `import.meta.env.VITE_QUICRPC_PORT`.
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
   * Starts the studio for a server, and calls `onPage` with the URL of its page. Returns undefined if `@quicrpc/studio`
   * is not installed.
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
