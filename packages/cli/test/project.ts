import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, expect, vi } from "vitest";

/** The program of the command. */
export const MAIN: string = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));

/** How a command ended. */
interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
interface Running {
  /** All that it has said from here on, up to and with `text`. */
  readonly says: (text: string) => Promise<string>;
  /** Its exit code, once it has ended by itself or by `stop`. */
  readonly exit: Promise<number | null>;
  /** Ends a command that would go on until it is told to; gives its exit code. */
  readonly stop: () => Promise<number | null>;
}

/** A project of a user, inside the repository, so that packages are found from it. */
export interface TestProject {
  readonly cwd: string;
  readonly quicrpc: (args: readonly string[], env?: NodeJS.ProcessEnv) => Run;
  /** The same without blocking this process. Interrupts the command once its output matches `until`. */
  readonly run: (args: readonly string[], until?: RegExp | false) => Promise<Run>;
  /** Starts a command that goes on until it is told to end. */
  readonly start: (args: readonly string[], env?: NodeJS.ProcessEnv, folder?: string) => Running;
  readonly write: (name: string, text: string) => void;
}

/** A project that is empty before each test of the file. */
export function useProject(): TestProject {
  // A command loads a compiler each time.
  vi.setConfig({ testTimeout: 60_000 });
  mkdirSync(CACHE, { recursive: true });
  const cwd = mkdtempSync(join(CACHE, "test-"));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  };
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));
  beforeEach(() => {
    rmSync(cwd, { recursive: true, force: true });
    write("package.json", "{}");
  });
  const quicrpc = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Run => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], ...env },
    });
    return { code: status, stdout: stdout.replace(/in \d+ ms/, "in 0 ms"), stderr };
  };
  const run = async (args: readonly string[], until: RegExp | false = false): Promise<Run> => {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (until !== false && !child.killed && until.test(stdout)) child.kill("SIGINT");
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout, stderr };
  };
  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}, folder = "."): Running => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: join(cwd, folder),
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    // All that it has said is heard by then.
    const exit = once(child, "close").then(([code]) => code as number | null);
    let said = "";
    let heard = (): void => {};
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        heard();
      });
    }
    const says = async (text: string): Promise<string> => {
      while (!said.includes(text)) {
        const more = new Promise<void>((resolve) => void (heard = resolve));
        await Promise.race([more, exit.then(() => expect.unreachable(`it ended, and said: ${said}`))]);
      }
      const end = said.indexOf(text) + text.length;
      const part = said.slice(0, end);
      said = said.slice(end);
      return part;
    };
    const stop = (): Promise<number | null> => {
      child.kill("SIGTERM");
      return exit;
    };
    return { says, exit, stop };
  };
  return { cwd, quicrpc, run, start, write };
}
