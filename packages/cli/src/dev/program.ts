import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { KILL_MS, outputOf } from "./companion.js";
import { type AddressTaken, DEV_VARIABLE, type DrainMessage, type Listening } from "./messages.js";

const USUAL = ["server", "main", "index", "app"].flatMap((name) =>
  ["src/", ""].flatMap((folder) => ["ts", "mts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);
const PRELOAD = new URL("./preload.js", import.meta.url);

export function findProgram(cwd: string, named: string | undefined): string {
  const candidates = named === undefined ? USUAL : [named];
  const entryFile = candidates.map((name) => join(cwd, name)).find((path) => existsSync(path));
  if (entryFile !== undefined) return entryFile;
  throw new Error(
    named === undefined
      ? "found no program to run: name it, as in quicrpc dev src/main.ts; src/server.ts is found without a name"
      : `there is no ${named} to run`,
  );
}

/**
 * Returns the Node arguments that are needed to run `program`: a loader if it is a TypeScript file that this version of
 * Node cannot run. Throws if the loader is not installed.
 */
function loaderFor(program: string, cwd: string): string[] {
  if (!/\.[cm]?tsx?$/.test(program)) return [];
  try {
    return ["--import", pathToFileURL(createRequire(join(cwd, "package.json")).resolve("tsx")).href];
  } catch {
    if ((process.features as { typescript?: unknown }).typescript) return [];
    throw new Error("this version of Node cannot run TypeScript: npm install --save-dev tsx");
  }
}

export interface ProgramEvents {
  readonly onListening: (urls: readonly string[]) => void;
  readonly onTaken: (message: string) => void;
  /** Called with the exit code when the program has ended by itself. */
  readonly onExit: (code: number | null) => void;
}

/** A process of the program that `quicrpc dev` runs. */
export class Program {
  /** Source files that the program has loaded. Empty if this version of Node does not report them. */
  readonly files: Set<string> = new Set();
  private readonly child: ChildProcess;
  private readonly exit: Promise<unknown>;
  private isServing = false;
  private isEnding = false;

  constructor(file: string, cwd: string, env: NodeJS.ProcessEnv, json: boolean, events: ProgramEvents) {
    this.child = fork(file, {
      cwd,
      stdio: [...outputOf(json), "ipc"],
      env: { ...process.env, ...env, [DEV_VARIABLE]: String(process.pid), WATCH_REPORT_DEPENDENCIES: "1" },
      execArgv: [...loaderFor(file, cwd), "--enable-source-maps", "--import", PRELOAD.href],
    });
    this.exit = once(this.child, "exit");
    this.child.on("exit", (code) => {
      if (!this.isEnding) events.onExit(code);
    });
    this.child.on("message", (message: (Partial<Listening> | AddressTaken) & Readonly<Record<string, unknown>>) => {
      if (message.quicrpc === "addressTaken") events.onTaken(message.message);
      if (message.quicrpc === "listening") {
        this.isServing = true;
        events.onListening(message.urls ?? []);
      }
      this.note(message["watch:import"]);
      this.note(message["watch:require"]);
    });
  }

  /** Drains the program's servers, so that clients reconnect to the next process, and then ends the process. */
  async end(timeoutMs: number): Promise<void> {
    this.isEnding = true;
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (this.isServing && child.connected) child.send({ quicrpc: "drain", timeoutMs } satisfies DrainMessage);
    else child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs + KILL_MS);
    await this.exit;
    clearTimeout(timer);
  }

  private note(modules: unknown): void {
    if (!Array.isArray(modules)) return;
    for (const module of modules as readonly unknown[]) {
      if (typeof module !== "string") continue;
      const path = module.startsWith("file:") ? fileURLToPath(module.split("?")[0] ?? module) : module;
      this.files.add(existsSync(path) ? realpathSync(path) : path);
    }
  }
}
