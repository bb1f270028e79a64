import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));

/** How a command ended. */
interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project of a user, inside the repository, so that packages are found from it. */
export interface TestProject {
  readonly cwd: string;
  readonly quicrpc: (args: readonly string[], env?: NodeJS.ProcessEnv) => Run;
  readonly write: (name: string, text: string) => void;
}

/** A project that is empty before each test of the file. */
export function useProject(): TestProject {
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
  return { cwd, quicrpc, write };
}
